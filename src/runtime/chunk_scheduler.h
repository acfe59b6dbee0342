// SPDX-License-Identifier: Apache-2.0
//
// One worker's chunks on their way through the pipeline. Chunks leave every stage, and the worker, in the order in
// which they were received, whatever the engines do: each stage keeps a queue of the chunks that wait for its engine,
// and while it is not empty every later chunk queues up behind, also one that needs no shader there. So flows keep
// their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "penumbra/engine.h"
#include "runtime/capture.h"
#include "runtime/counters.h"
#include "runtime/egress.h"
#include "runtime/in_flight_chunk.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

class ChunkScheduler {
 public:
  /// Chunks of one worker in flight at once. With engines that answer at once it is always the same one.
  static constexpr std::uint32_t kMostChunks = kMostInFlight;

  ChunkScheduler(const Pipeline& pipeline, std::vector<std::unique_ptr<EngineQueue>> queues, WorkerCounters& counters,
                 Tracer& tracer, Captures& captures, Egress& egress);

  bool has_room() const noexcept { return !free_.empty(); }
  std::size_t in_flight() const noexcept { return kMostChunks - free_.size(); }

  /// An unused chunk to receive into, if has_room(). It stays unused until it is given to enter().
  InFlightChunk& next() noexcept { return *free_.back(); }
  /// Takes the chunk of next(), filled: packets, size, rx_port, worker. Moves it as far as it gets. `now` is what the
  /// time stamp counter stood at when receiving was done. Returns what it stands at after that.
  std::uint64_t enter(std::uint64_t now) noexcept;
  /// Asks the engines for finished batches and moves what can be moved. Whether anything moved.
  bool poll() noexcept;

 private:
  /// A stage as this worker sees it: its engine queue, and the chunks that wait there, oldest at `head`.
  struct StageQueue {
    const Stage* stage = nullptr;
    std::unique_ptr<EngineQueue> engine;
    std::vector<InFlightChunk*> ring = std::vector<InFlightChunk*>(kMostChunks);
    std::uint32_t head = 0;         ///< positions count on for ever; the place in the ring is modulo kMostChunks
    std::uint32_t unsubmitted = 0;  ///< the first that may still have to be submitted
    std::uint32_t tail = 0;

    bool empty() const { return head == tail; }
    InFlightChunk*& at(std::uint32_t position) { return ring[position % kMostChunks]; }
  };

  void advance(InFlightChunk& chunk) noexcept;
  void pre_shade(InFlightChunk& chunk, StageQueue& stage) noexcept;
  void submit(InFlightChunk& chunk, StageQueue& stage) noexcept;
  void submit_waiting(StageQueue& stage) noexcept;
  void post_shade(InFlightChunk& chunk, StageQueue& stage) noexcept;
  void finish(InFlightChunk& chunk) noexcept;
  /// Cycles since the last step ended; the next one begins.
  std::uint64_t lap() noexcept;

  WorkerCounters& counters_;
  Tracer& tracer_;
  Captures& captures_;
  Egress& egress_;
  std::uint64_t clock_ = 0;
  std::vector<StageQueue> stages_;
  std::unique_ptr<InFlightChunk[]> chunks_;
  std::vector<InFlightChunk*> free_;  ///< last in, first out: the warmest is used next
};

}  // namespace penumbra::runtime
