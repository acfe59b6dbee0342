// SPDX-License-Identifier: Apache-2.0
//
// Moves one worker's chunks through the pipeline. Chunks leave every stage and the worker in the order of their
// reception, regardless of the engines. Each stage has a queue of the chunks that wait for its engines. While the queue
// is not empty, every later chunk joins it, even if it needs no shader there. Thus flows keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "penumbra/engine.h"
#include "runtime/capture.h"
#include "runtime/counters.h"
#include "runtime/egress.h"
#include "runtime/emission.h"
#include "runtime/handover.h"
#include "runtime/in_flight_chunk.h"
#include "runtime/pipeline.h"

namespace penumbra::runtime {

class ChunkScheduler {
 public:
  /// Chunks of one worker in flight. Synchronous engines need only one.
  static constexpr std::uint32_t kMostChunks = kMostInFlight;

  /// `pool` is the memory of the packets that functions create; null: they get none. `handover` is null if no function
  /// hands packets over.
  ChunkScheduler(std::uint16_t worker, const Pipeline& pipeline, Pipeline::Queues queues, WorkerCounters& counters,
                 Tracer& tracer, Captures& captures, Egress& egress, rte_mempool* pool, Handover* handover);

  /// Opens the data halves of the functions for worker `index` of `count`. Call on the worker's thread before the first
  /// packet. Throws like Function::open_worker().
  void open_functions(std::uint16_t index, std::uint16_t count, unsigned core);

  /// Change the memory that the engine queues of stages with payload share. No chunk may be in flight.
  void share(const std::shared_ptr<const HugeMemory>& memory);
  void unshare(const HugeMemory& memory);

  bool has_room() const noexcept { return !free_.empty(); }
  /// Returns the number of chunks in flight; packets that wait in the emitters are one more.
  std::size_t in_flight() const noexcept { return kMostChunks - free_.size() + (emissions_.size() > 0 ? 1 : 0); }

  /// Returns an unused chunk to receive into. Requires has_room(). The chunk stays unused until enter().
  InFlightChunk& next() noexcept { return *free_.back(); }
  /// Takes the chunk of next() with its packets, size, rx_port, worker and time set, and moves it as far as possible.
  /// `now` is the time stamp counter at the end of receiving. Returns the counter at the end of the call.
  std::uint64_t enter(std::uint64_t now) noexcept;
  /// Polls the engines for finished jobs, moves chunks, and starts chunks of emitted packets at `now` nanoseconds.
  /// Returns true if any moved.
  bool poll(std::uint64_t now) noexcept;

  /// Queues packets that other workers handed over. Returns true if there were any. Requires a handover.
  bool take_over() noexcept { return emissions_.take_over(); }
  /// Returns true if a function wants ticks.
  bool has_ticks() const noexcept { return has_ticks_; }
  /// Calls all functions' ticks. Returns the earliest time at which a function wants the next tick.
  std::uint64_t tick(std::uint64_t now) noexcept;
  /// Lets the functions release held packets. Returns true if no function holds a packet.
  bool finish() noexcept;

 private:
  /// Holds a worker's view of a stage: its engine queues by shader, and the chunks that wait there, the oldest at
  /// `head`.
  struct StageQueue {
    const Stage* stage = nullptr;
    std::unique_ptr<FunctionWorker> function;
    std::vector<std::unique_ptr<EngineQueue>> engines;
    std::vector<InFlightChunk*> ring = std::vector<InFlightChunk*>(kMostChunks);
    /// Positions increase forever; the index in the ring is the position modulo kMostChunks.
    std::uint32_t head = 0;
    std::uint32_t unsubmitted = 0;  ///< The first chunk that may still have to be submitted.
    std::uint32_t tail = 0;

    bool empty() const { return head == tail; }
    InFlightChunk*& at(std::uint32_t position) { return ring[position % kMostChunks]; }
  };

  template <class Use>
  void each_queue_with_payload(Use use);
  void advance(InFlightChunk& chunk) noexcept;
  void process(InFlightChunk& chunk, StageQueue& stage) noexcept;
  void start_job(InFlightChunk& chunk, const StageQueue& stage) noexcept;
  void submit(InFlightChunk& chunk, StageQueue& stage) noexcept;
  void submit_waiting(StageQueue& stage) noexcept;
  void resume(InFlightChunk& chunk, StageQueue& stage) noexcept;
  bool resume_ready(StageQueue& stage) noexcept;
  void leave(InFlightChunk& chunk) noexcept;
  void redirect(InFlightChunk& chunk) noexcept;
  void finish(InFlightChunk& chunk) noexcept;
  /// Returns the cycles since the end of the last step and begins the next step.
  std::uint64_t lap() noexcept;

  const Pipeline& pipeline_;
  WorkerCounters& counters_;
  Tracer& tracer_;
  Captures& captures_;
  Egress& egress_;
  std::uint64_t clock_ = 0;
  Emissions emissions_;
  std::deque<StageEmitter> emitters_;  ///< By stage; outlive the functions.
  std::vector<rte_mempool*> pools_;    ///< By stage.
  unsigned traced_chunks_ = 0;         ///< Number of traced chunks in flight.
  std::vector<StageQueue> stages_;
  bool has_ticks_ = false;
  std::unique_ptr<InFlightChunk[]> chunks_;
  /// Last in, first out, so that the chunk that is warmest in the cache is used next.
  std::vector<InFlightChunk*> free_;
};

}  // namespace penumbra::runtime
