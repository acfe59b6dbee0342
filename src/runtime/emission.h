// SPDX-License-Identifier: Apache-2.0
//
// Implements penumbra::Emitter for the stages of one worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penumbra/function_worker.h"
#include "runtime/capture.h"
#include "runtime/counters.h"
#include "runtime/in_flight_chunk.h"

struct rte_mempool;

namespace penumbra::runtime {

/// Queues the packets that functions of one worker created, released or redirected, in order.
class Emissions {
 public:
  static constexpr std::size_t kCapacity = 4096;

  /// `stages` is the number of the pipeline's stages.
  Emissions(std::uint16_t worker, std::uint16_t stages, WorkerCounters& counters, Captures& captures);

  std::size_t size() const noexcept { return tail_ - head_; }
  std::uint16_t stages() const noexcept { return stages_; }
  /// Queues a packet, whose verdict comes from `stage`. Drops the packet if the queue is full.
  void push(rte_mbuf* packet, Verdict verdict, std::uint16_t stage) noexcept;
  /// Fills an unused chunk with the first packets that have a common receive port and stage. Requires size() > 0.
  void fill(InFlightChunk& chunk) noexcept;
  void drop(rte_mbuf* packet, RuntimeReason reason) noexcept;

  WorkerCounters& counters() noexcept { return counters_; }

 private:
  struct Entry {
    rte_mbuf* packet;
    Verdict verdict;
    std::uint16_t stage;  ///< The stage that continues; stages() if the packet has its final verdict.
  };
  Entry& at(std::size_t position) { return entries_[position % kCapacity]; }

  const std::uint16_t worker_;
  const std::uint16_t stages_;
  WorkerCounters& counters_;
  Captures& captures_;
  std::vector<Entry> entries_;
  std::size_t head_ = 0, tail_ = 0;  ///< Positions increase forever.
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
  void go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept override;
  std::size_t room() const noexcept override { return Emissions::kCapacity - emissions_.size(); }

 private:
  Emissions& emissions_;
  const std::uint16_t stage_;
  rte_mempool* const pool_;
};

}  // namespace penumbra::runtime
