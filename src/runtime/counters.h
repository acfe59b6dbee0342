// SPDX-License-Identifier: Apache-2.0
//
// What one worker counts. It alone writes; anybody reads, any time, without disturbing it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace penumbra::runtime {

/// A number that one thread writes. Adding costs an ordinary load, add and store, no bus lock. Stores are releases and
/// loads acquires (both free on x86), so that who reads an effect first and its cause after it never sees the effect
/// alone: sent packets first, received ones after them.
class Counter {
 public:
  void add(std::uint64_t amount) noexcept { set(value_.load(std::memory_order_relaxed) + amount); }
  void set(std::uint64_t value) noexcept { value_.store(value, std::memory_order_release); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// One queue, one direction.
struct alignas(64) QueueCounters {
  Counter packets;
  Counter bytes;  ///< frames without FCS

  void add(std::uint64_t more_packets, std::uint64_t more_bytes) noexcept {
    packets.add(more_packets);
    bytes.add(more_bytes);
  }
};

/// One step of the way: receive, a stage's pre, shade and post, send.
struct alignas(64) StepCounters {
  Counter cycles;
  Counter packets;
  Counter chunks;

  void add(std::uint64_t more_cycles, std::uint64_t more_packets) noexcept {
    cycles.add(more_cycles);
    packets.add(more_packets);
    chunks.add(1);
  }
};

/// A worker's sleeps.
struct alignas(64) SleepCounters {
  Counter cycles;
  Counter sleeps;

  void add(std::uint64_t more_cycles) noexcept {
    cycles.add(more_cycles);
    sleeps.add(1);
  }
};

/// The steps of a pipeline in the order of the way: receive, three a stage, send.
constexpr std::size_t kReceiveStep = 0;
constexpr std::size_t kStepsPerStage = 3;
constexpr std::size_t step_of_stage(std::size_t stage) {
  return 1 + kStepsPerStage * stage;
}
constexpr std::size_t step_count(std::size_t stages) {
  return 2 + kStepsPerStage * stages;
}

/// All counters of one worker, on cache lines that no other worker writes.
class WorkerCounters {
 public:
  WorkerCounters(std::size_t rx_queues, std::size_t ports, std::size_t stages, std::size_t reasons)
      : received(rx_queues),
        sent(ports),
        from_host(ports),
        steps(step_count(stages)),
        reasons_((reasons + kPerLine - 1) / kPerLine) {}

  // Others may follow behind, while no worker works and nobody reads.
  std::deque<QueueCounters> received;   ///< by the worker's own receive queues
  std::deque<QueueCounters> sent;       ///< by port: the worker's transmit queue there
  std::deque<QueueCounters> from_host;  ///< by port: what the host gave to be sent there
  std::vector<StepCounters> steps;
  Counter replicated;  ///< copies that were made of packets which leave by several ports: one less than these
  SleepCounters asleep;

  Counter& reason(std::size_t index) { return reasons_[index / kPerLine].counters[index % kPerLine]; }
  const Counter& reason(std::size_t index) const { return reasons_[index / kPerLine].counters[index % kPerLine]; }

 private:
  static constexpr std::size_t kPerLine = 8;
  struct alignas(64) Line {
    std::array<Counter, kPerLine> counters;
  };
  std::vector<Line> reasons_;
};

}  // namespace penumbra::runtime
