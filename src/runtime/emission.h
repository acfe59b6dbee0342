// SPDX-License-Identifier: Apache-2.0
//
// Implements penumbra::Emitter for the stages of one worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "penumbra/function_worker.h"
#include "runtime/capture.h"
#include "runtime/counters.h"
#include "runtime/handover.h"
#include "runtime/in_flight_chunk.h"
#include "runtime/pipeline.h"

struct rte_mempool;

namespace penumbra::runtime {

/// Queues the packets that functions of one worker created, released or redirected, in order.
class Emissions {
 public:
  static constexpr std::size_t kCapacity = 4096;

  /// `handover` is null if no function hands packets over.
  Emissions(std::uint16_t worker, const Pipeline& pipeline, WorkerCounters& counters, Captures& captures,
            Handover* handover);

  std::size_t size() const noexcept { return tail_ - head_; }
  std::uint16_t stages() const noexcept { return stages_; }
  /// Queues a packet, whose verdict comes from `stage`, unless the configuration sends it elsewhere. Drops the packet
  /// if that is the verdict or the queue is full.
  void push(rte_mbuf* packet, Verdict verdict, std::uint16_t stage) noexcept;
  /// Fills an unused chunk with the first packets that have a common receive port and stage, and with their traces.
  /// Requires size() > 0.
  void fill(InFlightChunk& chunk) noexcept;
  /// Keeps the trace of a packet for fill(). Returns false, and leaves `trace` alone, if the packet does not wait here.
  bool follow(const rte_mbuf* packet, PacketTrace& trace);
  /// Queues packet `index` of a chunk, whose verdict is go_to. If the queue is full, the verdict becomes a drop.
  void redirect(Chunk& chunk, std::uint16_t index) noexcept;
  void drop(rte_mbuf* packet, RuntimeReason reason) noexcept;
  /// Gives a packet to the worker that receives its flow, where the stage after `stage` continues, and so does `trace`
  /// (null: the packet is not traced). Returns false, without a change, if that is this worker. Drops the packet if the
  /// way to the other worker is full.
  bool hand_over(rte_mbuf* packet, std::uint16_t stage, PacketTrace* trace) noexcept;
  /// Queues the packets that other workers handed over, as far as there is room. Returns true if there were any.
  bool take_over() noexcept;

  WorkerCounters& counters() noexcept { return counters_; }

 private:
  struct Entry {
    rte_mbuf* packet;
    Verdict verdict;
    std::uint16_t stage;  ///< The stage that continues; stages() if the packet has its final verdict.
  };
  void drop(rte_mbuf* packet, Verdict verdict) noexcept;
  Entry& at(std::size_t position) { return entries_[position % kCapacity]; }

  const std::uint16_t worker_;
  const Pipeline& pipeline_;
  const std::uint16_t stages_;
  const std::size_t reasons_;
  WorkerCounters& counters_;
  Captures& captures_;
  Handover* const handover_;
  std::vector<Entry> entries_;
  std::size_t head_ = 0, tail_ = 0;                                ///< Positions increase forever.
  std::vector<std::pair<const rte_mbuf*, PacketTrace>> followed_;  ///< Traces of waiting packets.
};

/// Is the emitter of one stage.
class StageEmitter final : public Emitter {
 public:
  /// A packet that functions redirected more often is dropped.
  static constexpr std::uint8_t kMostVisits = 8;

  /// `pool` is the memory of new packets; null: allocate() returns null.
  StageEmitter(Emissions& emissions, std::uint16_t stage, rte_mempool* pool)
      : emissions_(emissions), stage_(stage), pool_(pool) {}

  rte_mbuf* allocate() noexcept override;
  void discard(rte_mbuf* packet) noexcept override;
  void emit(rte_mbuf* packet, Verdict verdict) noexcept override;
  void hold(Chunk& chunk, std::uint16_t index) noexcept override;
  void release(rte_mbuf* packet, Verdict verdict) noexcept override;
  void absorb(std::size_t count) noexcept override;
  void replace(Chunk& chunk, std::uint16_t index, rte_mbuf* packet, std::size_t held) noexcept override;
  void go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept override;
  std::size_t room() const noexcept override { return Emissions::kCapacity - emissions_.size(); }

 private:
  Emissions& emissions_;
  const std::uint16_t stage_;
  rte_mempool* const pool_;
};

}  // namespace penumbra::runtime
