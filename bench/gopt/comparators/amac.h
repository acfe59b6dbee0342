// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous memory access chaining (Kocberber, Falsafi, Grot: Asynchronous Memory Access Chaining, PVLDB 9(4),
// 2015), written from the paper. A ring holds the states of look-ups. Each turn advances the next state by a stage, and
// replaces a finished look-up by a new one in the same turn.
#pragma once

#include <cstdint>
#include <vector>

#include "gopt/kernels/chase.shader.h"
#include "gopt/kernels/cuckoo.shader.h"
#include "gopt/kernels/trie6.shader.h"
#include "gopt/workload.h"
#include "penumbra/prefetch.h"
#include "tables/dir24_8/dir24_8.shader.h"

namespace penumbra::bench {

/// Ring sizes that are tried.
#define PENUMBRA_BENCH_RINGS 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256
inline const std::vector<std::uint32_t> kRings{PENUMBRA_BENCH_RINGS};

/// Runs `n` items. A kernel has a struct State. start(state, i) prefetches the first access of item i. step(state)
/// continues after an access; it returns true if it has prefetched another access, false if the item is done.
template <std::uint32_t Ring, class Kernel>
[[gnu::noinline]] void amac(Kernel kernel, std::uint32_t n) {
  typename Kernel::State ring[Ring];
  std::uint32_t next = 0, active = 0, at = 0;
  while (active < Ring && next < n) kernel.start(ring[active++], next++);
  while (active > 0) {
    if (kernel.step(ring[at])) {
      ++at;
    } else if (next < n) {
      kernel.start(ring[at++], next++);
    } else {
      ring[at] = ring[--active];
    }
    if (at == active) at = 0;
  }
}

/// Makes a way from `make(first)`, which makes the kernel of the items from `first` on.
template <class Make>
Way by_amac(Make make) {
  return {"AMAC", kRings, [make](std::uint32_t first, std::uint32_t n, std::uint32_t size) {
            const auto kernel = make(first);
            with_size<PENUMBRA_BENCH_RINGS>(size, [&]<std::uint32_t Ring> { amac<Ring>(kernel, n); });
          }};
}

/// Requires chains of at least one step.
struct ChaseAmac {
  struct State {
    std::uint32_t at, item, left;
  };
  void start(State& state, std::uint32_t item) const {
    state = {begin[item], item, view.steps};
    prefetch_line(&view.line[state.at]);
  }
  bool step(State& state) const {
    state.at = view.line[state.at].next;
    if (--state.left == 0) {
      end[state.item] = state.at;
      return false;
    }
    prefetch_line(&view.line[state.at]);
    return true;
  }

  chase_view view;
  const std::uint32_t* begin;
  std::uint32_t* end;
};

struct CuckooAmac {
  struct State {
    const cuckoo_bucket* bucket;
    std::uint32_t key, hash, item;
    bool second;
  };
  void start(State& state, std::uint32_t item) const {
    const std::uint32_t hash = cuckoo_hash(key[item]);
    state = {&view.bucket[cuckoo_first(view, hash)], key[item], hash, item, false};
    prefetch_line(state.bucket);
  }
  bool step(State& state) const {
    const std::uint32_t found = cuckoo_search(state.bucket, state.key);
    if (found == CUCKOO_NOT_FOUND && !state.second) {
      state.second = true;
      state.bucket = &view.bucket[cuckoo_second(view, state.hash)];
      prefetch_line(state.bucket);
      return true;
    }
    value[state.item] = found;
    return false;
  }

  cuckoo_view view;
  const std::uint32_t* key;
  std::uint32_t* value;
};

struct Trie6Amac {
  struct State {
    const std::uint32_t* slot;
    const std::uint8_t* byte;
    std::uint32_t item;
  };
  void start(State& state, std::uint32_t item) const {
    state = {&view.root[trie6_root_index(view, &address[item])], &address[item].byte[view.root_bytes], item};
    prefetch_line(state.slot);
  }
  bool step(State& state) const {
    const std::uint32_t entry = *state.slot;
    if (entry >= TRIE6_NODE) {
      state.slot = trie6_slot(view, entry, *state.byte++);
      prefetch_line(state.slot);
      return true;
    }
    next_hop[state.item] = entry;
    return false;
  }

  trie6_view view;
  const trie6_address* address;
  std::uint32_t* next_hop;
};

struct Ipv4Amac {
  struct State {
    const std::uint16_t* slot;
    std::uint32_t item;
  };
  void start(State& state, std::uint32_t item) const {
    state = {&view.tbl24[address[item] >> 8], item};
    prefetch_line(state.slot);
  }
  /// An entry of the second table is never a group, so one stage handles both tables.
  bool step(State& state) const {
    const std::uint16_t entry = *state.slot;
    if (entry >= DIR24_8_NEXT_HOPS && entry != DIR24_8_NO_ROUTE) {
      const auto group = static_cast<std::uint32_t>(entry - DIR24_8_NEXT_HOPS);
      state.slot = &view.tbl8[group * DIR24_8_GROUP_ENTRIES + (address[state.item] & 0xFF)];
      prefetch_line(state.slot);
      return true;
    }
    next_hop[state.item] = entry;
    return false;
  }

  dir24_8_view view;
  const std::uint32_t* address;
  std::uint16_t* next_hop;
};

}  // namespace penumbra::bench
