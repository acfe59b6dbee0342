// SPDX-License-Identifier: Apache-2.0
//
// Manual optimizations by G-Opt's authors for payloads that several automata search (G-Opt, NSDI 2015, section 5). The
// loop over payloads is inside the loop over bytes, and larger batches are sorted by automaton and length.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gopt/kernels/aho_corasick.shader.h"

namespace penumbra::bench {

/// The payloads of a batch, in the form of aho_corasick_scan()'s arguments.
struct Payloads {
  const std::uint8_t* bytes = nullptr;
  const std::uint32_t* offset = nullptr;
  const std::uint32_t* length = nullptr;
  const std::uint32_t* root = nullptr;
};

/// Numbers of payloads that are searched in turn.
#define PENUMBRA_BENCH_INTERCHANGED 2, 4, 8, 16, 32
inline const std::vector<std::uint32_t> kInterchanged{PENUMBRA_BENCH_INTERCHANGED};

/// Scans `Group` payloads at a time, one byte of each in turn.
template <std::uint32_t Group>
[[gnu::noinline]] void scan_interchanged(aho_corasick_view view, Payloads payloads, std::uint32_t* matches,
                                         std::uint32_t n) {
  struct Scan {
    const std::uint8_t* at;
    std::uint32_t left, state, found, item;
  };
  Scan scans[Group];
  for (std::uint32_t next = 0; next < n;) {
    std::uint32_t count = 0;
    for (; count < Group && next < n; ++count, ++next) {
      scans[count] = {payloads.bytes + payloads.offset[next], payloads.length[next], payloads.root[next], 0, next};
    }
    while (count > 0) {
      std::uint32_t rounds = scans[0].left;
      for (std::uint32_t j = 1; j < count; ++j) rounds = std::min(rounds, scans[j].left);
      for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::uint32_t j = 0; j < count; ++j) {
          scans[j].state = *aho_corasick_move(view, scans[j].state, scans[j].at[round]);
          scans[j].found += scans[j].state >> 31;
        }
      }
      std::uint32_t kept = 0;
      for (std::uint32_t j = 0; j < count; ++j) {
        Scan scan = scans[j];
        scan.at += rounds;
        scan.left -= rounds;
        if (scan.left == 0) {
          matches[scan.item] = scan.found;
        } else {
          scans[kept++] = scan;
        }
      }
      count = kept;
    }
  }
}

/// Calls `scan(payloads, matches)` with the batch sorted by automaton and length, and restores the order of the
/// matches.
template <class Scan>
void scan_sorted(Payloads payloads, std::uint32_t* matches, std::uint32_t n, Scan scan) {
  static thread_local std::vector<std::uint64_t> keys;
  static thread_local std::vector<std::uint32_t> offset, length, root, found;
  keys.resize(n);
  for (auto* const column : {&offset, &length, &root, &found}) column->resize(n);
  // The lowest bits of a key hold the place in the batch, so that only keys have to be sorted.
  constexpr unsigned kPlaceBits = 16, kLengthBits = 16;
  for (std::uint32_t i = 0; i < n; ++i) {
    keys[i] = std::uint64_t{payloads.root[i]} << (kPlaceBits + kLengthBits) |
              std::uint64_t{payloads.length[i]} << kPlaceBits | i;
  }
  std::ranges::sort(keys);
  const auto place = [](std::uint64_t key) { return key & ((1U << kPlaceBits) - 1); };
  for (std::uint32_t i = 0; i < n; ++i) {
    offset[i] = payloads.offset[place(keys[i])];
    length[i] = payloads.length[place(keys[i])];
    root[i] = payloads.root[place(keys[i])];
  }
  scan(Payloads{payloads.bytes, offset.data(), length.data(), root.data()}, found.data());
  for (std::uint32_t i = 0; i < n; ++i) matches[place(keys[i])] = found[i];
}

}  // namespace penumbra::bench
