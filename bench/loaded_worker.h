// SPDX-License-Identifier: Apache-2.0
//
// Simulates a worker of an engine without packets. Look-ups arrive at a constant rate, independent of the worker's
// speed. The worker takes the waiting look-ups, at most 64. For each it spends as much time as receiving and sending
// take, and it keeps up to kMostInFlight chunks in flight.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu/lookup_work.h"
#include "penumbra/engine.h"

namespace penumbra::bench {

class LoadedWorker {
 public:
  static constexpr double kNoLimit = 0;       ///< As a rate: more look-ups arrive than the worker can process.
  static constexpr std::uint32_t kMost = 64;  ///< Look-ups of a chunk.

  /// Opens a queue of the engine for `core`. Call the other functions on threads on that core. Engine and work must
  /// outlive it.
  LoadedWorker(Engine& engine, gpu::LookupWork& work, unsigned core);

  struct Figures {
    double rate = 0;             ///< Look-ups answered per second.
    double median = 0, p99 = 0;  ///< Seconds from the arrival of a chunk's oldest look-up to its answer.
  };
  /// Lets `rate` look-ups per second arrive for a fifth of a second. At most as many wait as a receive ring holds.
  Figures run(double rate) { return go<false>(rate); }
  /// Does the same, and throws WrongAnswer unless every answer equals the oracle's.
  void check(double rate) { go<true>(rate); }

 private:
  static constexpr std::size_t kMostAnswerBytes = 4;
  struct InFlightBatch : Batch {
    std::size_t first = 0;  ///< Index of its first key.
    double came = 0;        ///< Arrival time of its oldest look-up.
    bool is_back = false;
    alignas(64) std::array<std::byte, kMost * kMostAnswerBytes> found{};
  };
  std::span<std::byte> answers_of(InFlightBatch& batch) const {
    return std::span(batch.found).first(batch.items * work_.answer_bytes());
  }
  InFlightBatch& at(std::uint64_t number) { return batches_[number % kMostInFlight]; }

  template <bool kChecked>
  Figures go(double rate);
  void prepare(std::uint32_t items, double came, bool has_backlog);
  void submit_waiting();

  const gpu::LookupWork& work_;
  std::array<InFlightBatch, kMostInFlight> batches_;
  std::unique_ptr<EngineQueue> queue_;                   ///< Must end before the memory that it may still write.
  std::uint64_t head_ = 0, unsubmitted_ = 0, tail_ = 0;  ///< Counts of chunks, which only grow.
  std::size_t next_ = 0;                                 ///< Index of the next key.
  std::vector<float> delays_;
};

}  // namespace penumbra::bench
