// SPDX-License-Identifier: Apache-2.0
//
// Moves one worker's chunks through the pipeline. Chunks leave every stage and the worker in the order of their
// reception, regardless of the engines. Each stage has a queue of the chunks that wait for its engine. While the queue
// is not empty, every later chunk joins it, even if it needs no shader there. Thus flows keep their order.
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
  /// Chunks of one worker in flight. Synchronous engines need only one.
  static constexpr std::uint32_t kMostChunks = kMostInFlight;

  ChunkScheduler(const Pipeline& pipeline, std::vector<std::unique_ptr<EngineQueue>> queues, WorkerCounters& counters,
                 Tracer& tracer, Captures& captures, Egress& egress);

  bool has_room() const noexcept { return !free_.empty(); }
  std::size_t in_flight() const noexcept { return kMostChunks - free_.size(); }

  /// Returns an unused chunk to receive into. Requires has_room(). The chunk stays unused until enter().
  InFlightChunk& next() noexcept { return *free_.back(); }
  /// Takes the chunk of next() with its packets, size, rx_port and worker set, and moves it as far as possible. `now`
  /// is the time stamp counter at the end of receiving. Returns the counter at the end of the call.
  std::uint64_t enter(std::uint64_t now) noexcept;
  /// Polls the engines for finished batches and moves chunks. Returns true if any moved.
  bool poll() noexcept;

 private:
  /// Holds a worker's view of a stage: its engine queue and the chunks that wait there, the oldest at `head`.
  struct StageQueue {
    const Stage* stage = nullptr;
    std::unique_ptr<EngineQueue> engine;
    std::vector<InFlightChunk*> ring = std::vector<InFlightChunk*>(kMostChunks);
    /// Positions increase forever; the index in the ring is the position modulo kMostChunks.
    std::uint32_t head = 0;
    std::uint32_t unsubmitted = 0;  ///< The first chunk that may still have to be submitted.
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
  /// Returns the cycles since the end of the last step and begins the next step.
  std::uint64_t lap() noexcept;

  WorkerCounters& counters_;
  Tracer& tracer_;
  Captures& captures_;
  Egress& egress_;
  std::uint64_t clock_ = 0;
  std::vector<StageQueue> stages_;
  std::unique_ptr<InFlightChunk[]> chunks_;
  /// Last in, first out, so that the chunk that is warmest in the cache is used next.
  std::vector<InFlightChunk*> free_;
};

}  // namespace penumbra::runtime
