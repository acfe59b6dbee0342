// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Holds counters by entry number. Each worker has its own part, which no other thread writes while a worker may use
/// it.
class HitCounters {
 public:
  explicit HitCounters(std::size_t workers) : workers_(workers), is_prepared_(workers) {}

  /// Only the worker's own thread may call this function.
  void count(std::size_t worker, std::uint32_t number, std::uint32_t bytes, std::uint64_t now_ms) noexcept {
    Hits& hits = parts_[place(worker, number)];
    add(hits.packets, 1);
    add(hits.bytes, bytes);
    std::atomic_ref(hits.last_ms).store(now_ms, std::memory_order_relaxed);
  }
  /// Touches the worker's part of the numbers up to `most`, so that count() causes no page fault. Each worker calls
  /// this before its first packet.
  void prepare(std::size_t worker, std::uint32_t most) noexcept {
    constexpr std::uint32_t kNumbersOfPage = 4096 / sizeof(Hits);
    for (std::uint32_t number = 0; number < most; number += kNumbersOfPage) touch(parts_[place(worker, number)]);
    touch(parts_[place(worker, most)]);
    is_prepared_[worker].store(true, std::memory_order_relaxed);
  }
  /// Resets the counters of a number that no worker uses.
  void clear(std::uint32_t number) {
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      Hits& hits = parts_[place(worker, number)];
      if (hits.packets != 0) {
        hits = {};
      } else if (is_prepared_[worker].load(std::memory_order_relaxed)) {
        touch(hits);
      }
    }
  }
  /// Returns the sum over all parts. Must be called by the thread that calls clear(). The counters of one packet may be
  /// only partly included.
  Hits of(std::uint32_t number) {
    const auto read = [](std::uint64_t& word) { return std::atomic_ref(word).load(std::memory_order_relaxed); };
    Hits sum{};
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      Hits& hits = parts_[place(worker, number)];
      sum.packets += read(hits.packets);
      sum.bytes += read(hits.bytes);
      sum.last_ms = std::max(sum.last_ms, read(hits.last_ms));
    }
    return sum;
  }

 private:
  static constexpr std::size_t kNumbers = kMostRules + 1;
  static void add(std::uint64_t& counter, std::uint64_t amount) noexcept {
    const std::atomic_ref word(counter);
    word.store(word.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  static void touch(Hits& hits) noexcept { std::atomic_ref(hits.packets).fetch_add(0, std::memory_order_relaxed); }
  static std::size_t place(std::size_t worker, std::uint32_t number) { return worker * kNumbers + number; }

  const std::size_t workers_;
  HugeArray<Hits> parts_{workers_ * kNumbers};
  std::vector<std::atomic<bool>> is_prepared_;
};

}  // namespace penumbra::rule_list
