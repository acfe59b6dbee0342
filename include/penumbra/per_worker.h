// SPDX-License-Identifier: Apache-2.0
//
// Provides counters that one worker writes and any thread reads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penumbra {

/// Counts in one thread. An addition is an ordinary load, add and store without a bus lock. Stores are releases and
/// loads are acquires (both free on x86). Thus a reader that reads an effect before its cause never sees the effect
/// alone: it must read sent packets before received ones.
class Counter {
 public:
  void add(std::uint64_t amount) noexcept { set(value_.load(std::memory_order_relaxed) + amount); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_release); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Holds an object of each worker on cache lines of its own.
template <class Part>
class PerWorker {
 public:
  explicit PerWorker(std::size_t workers) : parts_(workers) {}

  Part& of(std::size_t worker) { return parts_[worker].part; }
  auto begin() const { return parts_.begin(); }
  auto end() const { return parts_.end(); }
  std::size_t workers() const { return parts_.size(); }

 private:
  struct alignas(64) Line {
    Part part{};
  };
  std::vector<Line> parts_;
};

/// Holds `kCount` counters of each worker.
template <std::size_t kCount>
class Counters {
 public:
  explicit Counters(std::size_t workers) : parts_(workers) {}

  /// Adds to a counter. Only the worker's own thread may call this function.
  void add(std::size_t worker, std::size_t counter, std::uint64_t amount = 1) noexcept {
    parts_.of(worker)[counter].add(amount);
  }
  /// Returns the sum over all workers. Any thread may call this function.
  std::uint64_t sum(std::size_t counter) const noexcept {
    std::uint64_t sum = 0;
    for (const auto& line : parts_) sum += line.part[counter].get();
    return sum;
  }

 private:
  PerWorker<std::array<Counter, kCount>> parts_;
};

}  // namespace penumbra
