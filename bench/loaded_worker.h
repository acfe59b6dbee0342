// SPDX-License-Identifier: Apache-2.0
//
// What a worker does with an engine, without packets: look-ups come at a steady rate, whether it keeps up or not; it
// takes what has come, 64 at most, does for each as long something else as receiving and sending take, and keeps up to
// kMostInFlight chunks in flight.
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
  static constexpr double kNoLimit = 0;       ///< a rate: more come than can be done
  static constexpr std::uint32_t kMost = 64;  ///< look-ups of a chunk

  /// With a queue of the engine for a core; its functions are for threads there. Both outlive it.
  LoadedWorker(Engine& engine, gpu::LookupWork& work, unsigned core);

  struct Figures {
    double rate = 0;             ///< look-ups answered a second
    double median = 0, p99 = 0;  ///< seconds from when a chunk's oldest look-up came until its answer
  };
  /// For a fifth of a second so many look-ups come a second; of what waits no more than a receive ring holds.
  Figures run(double rate) { return go<false>(rate); }
  /// The same; throws WrongAnswer unless every answer is the oracle's.
  void check(double rate) { go<true>(rate); }

 private:
  static constexpr std::size_t kMostAnswerBytes = 4;
  struct InFlightBatch : Batch {
    std::size_t first = 0;  ///< key
    double came = 0;        ///< its oldest look-up
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
  std::unique_ptr<EngineQueue> queue_;                   ///< ends before what it may still write
  std::uint64_t head_ = 0, unsubmitted_ = 0, tail_ = 0;  ///< chunks; these count on for ever
  std::size_t next_ = 0;                                 ///< key
  std::vector<float> delays_;
};

}  // namespace penumbra::bench
