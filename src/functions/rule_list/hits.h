// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/steady_time.h"
#include "penumbra/huge_memory.h"
#include "tables/rules/rule_table.h"

namespace penumbra::rule_list {

/// Counts the packets that an entry of a list has decided on.
struct Hits {
  std::uint64_t packets;
  std::uint64_t bytes;    ///< bytes of packets, as the function counts them
  std::uint64_t last_ms;  ///< time of the last packet by steady_ms(); 0 if there was none
};

/// Holds counters by entry number. Each worker, or each group of a few workers, has its own part, so that cores do not
/// contend for cache lines.
class HitCounters {
 public:
  /// Any worker may call this function.
  void count(std::size_t worker, std::uint32_t number, std::uint32_t bytes, std::uint64_t now_ms) noexcept {
    Hits& hits = parts_[place(worker, number)];
    std::atomic_ref(hits.packets).fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(hits.bytes).fetch_add(bytes, std::memory_order_relaxed);
    std::atomic_ref(hits.last_ms).store(now_ms, std::memory_order_relaxed);
  }
  /// Touches the worker's part of the numbers up to `most`, so that count() causes no page fault. Each worker calls
  /// this before its first packet. Parts of workers that do not exist are never touched and use no memory.
  void prepare(std::size_t worker, std::uint32_t most) noexcept {
    constexpr std::uint32_t kNumbersOfPage = 4096 / sizeof(Hits);
    for (std::uint32_t number = 0; number < most; number += kNumbersOfPage) touch(parts_[place(worker, number)]);
    touch(parts_[place(worker, most)]);
    prepared_.fetch_or(1U << worker % kParts, std::memory_order_relaxed);
  }
  /// Resets the counters of a number that no worker uses.
  void clear(std::uint32_t number) {
    const std::uint32_t prepared = prepared_.load(std::memory_order_relaxed);
    for (std::size_t part = 0; part < kParts; ++part) {
      Hits& hits = parts_[place(part, number)];
      if (hits.packets != 0) {
        hits = {};
      } else if ((prepared >> part & 1) != 0) {
        touch(hits);
      }
    }
  }
  /// Returns the sum over all parts. Must be called by the thread that calls clear(). The counters of one packet may be
  /// only partly included.
  Hits of(std::uint32_t number) {
    const auto read = [](std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); };
    Hits sum{};
    for (std::size_t part = 0; part < kParts; ++part) {
      Hits& hits = parts_[place(part, number)];
      sum.packets += read(hits.packets);
      sum.bytes += read(hits.bytes);
      sum.last_ms = std::max(sum.last_ms, read(hits.last_ms));
    }
    return sum;
  }

 private:
  static constexpr std::size_t kParts = 16, kNumbers = kMostRules + 1;
  static void touch(Hits& hits) noexcept { std::atomic_ref(hits.packets).fetch_add(0, std::memory_order_relaxed); }
  static std::size_t place(std::size_t worker, std::uint32_t number) { return worker % kParts * kNumbers + number; }

  HugeArray<Hits> parts_{kParts * kNumbers};
  std::atomic<std::uint32_t> prepared_{0};  ///< one bit for each part
};

}  // namespace penumbra::rule_list
