// SPDX-License-Identifier: Apache-2.0
//
// Defines one worker's counters. The worker alone writes; any thread may read at any time without disturbing it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "penumbra/per_worker.h"

namespace penumbra::runtime {

/// Counts the traffic of one queue and direction.
struct alignas(64) QueueCounters {
  Counter packets;
  Counter bytes;  ///< Frames without FCS.

  void add(std::uint64_t more_packets, std::uint64_t more_bytes) noexcept {
    packets.add(more_packets);
    bytes.add(more_bytes);
  }
};

/// Counts the work of one step: receive, a stage's pre-shade, shader and post-shade, send.
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

/// Counts a worker's sleeps.
struct alignas(64) SleepCounters {
  Counter cycles;
  Counter sleeps;

  void add(std::uint64_t more_cycles) noexcept {
    cycles.add(more_cycles);
    sleeps.add(1);
  }
};

/// These functions number a pipeline's steps: receive, three for each stage, send.
constexpr std::size_t kReceiveStep = 0;
constexpr std::size_t kStepsPerStage = 3;
constexpr std::size_t step_of_stage(std::size_t stage) {
  return 1 + kStepsPerStage * stage;
}
constexpr std::size_t step_count(std::size_t stages) {
  return 2 + kStepsPerStage * stages;
}

/// Holds all counters of one worker, on cache lines that no other worker writes.
class WorkerCounters {
 public:
  WorkerCounters(std::size_t rx_queues, std::size_t ports, std::size_t stages, std::size_t reasons)
      : received(rx_queues),
        sent(ports),
        from_host(ports),
        steps(step_count(stages)),
        reasons_((reasons + kPerLine - 1) / kPerLine) {}

  // Elements may be appended while no worker runs and nobody reads.
  std::deque<QueueCounters> received;   ///< By the worker's own receive queues.
  std::deque<QueueCounters> sent;       ///< By port: the worker's transmit queue there.
  std::deque<QueueCounters> from_host;  ///< By port: packets that the host sends there.
  std::vector<StepCounters> steps;
  Counter replicated;  ///< Copies of packets that leave by several ports; the original does not count.
  Counter created;     ///< Packets that functions created.
  Counter held;        ///< Packets that functions kept. The other two counters say how many they keep no more.
  Counter released;    ///< Kept packets that came back.
  Counter absorbed;    ///< Kept packets that became part of created packets.
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
