// SPDX-License-Identifier: Apache-2.0
//
// Defines the data half of a network function, which processes packets on one worker, and its access to packets outside
// the current chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "penumbra/chunk.h"

struct rte_mbuf;
struct rte_mempool;

namespace penumbra {

/// Creates packets, and holds, releases and redirects them, for one function on one worker. Every created packet and
/// every released packet goes through the rest of the pipeline in a chunk of its own, after the current call. A
/// packet's field `port` is its receive port. Only the worker's thread may call. Nothing waits or allocates.
class Emitter {
 public:
  Emitter() = default;
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  virtual ~Emitter() = default;

  /// Returns an empty packet for emit() or discard(), or null if the worker's pool has none.
  virtual rte_mbuf* allocate() noexcept = 0;
  /// Frees a packet of allocate() that was not emitted.
  virtual void discard(rte_mbuf* packet) noexcept = 0;
  /// Adds a packet to the router. `verdict` is send, drop, punt, pass (the next stage continues) or go_to. The packet's
  /// `port` must be a port's index. If too many packets wait, the packet is dropped as router.emitter_full.
  virtual void emit(rte_mbuf* packet, Verdict verdict) noexcept = 0;

  /// Takes packet `index` out of the chunk: the function keeps it until release() or absorb(). In a dry run only the
  /// verdict changes.
  virtual void hold(Chunk& chunk, std::uint16_t index) noexcept = 0;
  /// Returns a held packet to the router, like emit().
  virtual void release(rte_mbuf* packet, Verdict verdict) noexcept = 0;
  /// Records that `count` held packets became part of a packet that emit() gets, or gets next.
  virtual void absorb(std::size_t count) noexcept = 0;

  /// Puts a created packet into the place of packet `index`, undecided. Packet `index` and `held` held packets became
  /// part of the created packet, or were its copies. If another worker receives the flow of the created packet, that
  /// worker continues with the next stage (FunctionInfo::hands_over), and the verdict in this chunk is `hold`.
  virtual void replace(Chunk& chunk, std::uint16_t index, rte_mbuf* packet, std::size_t held) noexcept = 0;

  /// Moves packet `index` of the chunk to another stage, earlier or later. After 8 visits of stages in this way, a
  /// packet is dropped as router.too_many_visits. In a dry run only the verdict changes.
  virtual void go_to(Chunk& chunk, std::uint16_t index, std::uint16_t stage) noexcept = 0;

  /// Returns how many packets emit(), release() and go_to() can take before packets are dropped as router.emitter_full.
  virtual std::size_t room() const noexcept = 0;
};

/// Holds the arguments of the creation of a data half.
struct WorkerContext {
  std::uint16_t index = 0;  ///< The worker's index. A dry run's data half has the index `count`.
  std::uint16_t count = 1;  ///< Number of workers.
  unsigned core = 0;        ///< CPU core of the worker.
  Emitter& emitter;         ///< Outlives the data half.
  /// Memory of the worker for created packets; null in a dry run and without FunctionInfo::creates_packets.
  rte_mempool* pool = nullptr;
};

/// Processes packets on one worker. The function reads headers by headers_of(), and calls headers_changed() after it
/// changed them (src/packet/mbuf_metadata.h), because later functions rely on the description. Owns all state that
/// belongs to the worker, without locks or atomic operations, except what the control half reads
/// (penumbra/per_worker.h). Calls for a dry-run chunk must change no state.
class FunctionWorker {
 public:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  FunctionWorker() = default;
  FunctionWorker(const FunctionWorker&) = delete;
  FunctionWorker& operator=(const FunctionWorker&) = delete;
  virtual ~FunctionWorker() = default;

  /// Judges each undecided packet. To start a job, fills chunk.batch: items, columns and, if the function has several
  /// shaders, chunk.shader. chunk.packet_of_item is for the function's own use. The runtime sets the other fields.
  virtual void process(Chunk& chunk) noexcept = 0;
  /// Continues after process() or resume(), when the job is done or if there was none. Turns the outputs into verdicts
  /// and rewrites packets. Returns true if it filled chunk.batch for a further job. Chunks are resumed in the order of
  /// process(), each round of jobs for itself.
  virtual bool resume(Chunk& /*chunk*/) noexcept { return false; }

  /// Does what is due at `now` and returns the time of the next tick, or kNever if nothing is pending. Times are
  /// nanoseconds of a steady clock. For packets of a capture file the clock is the capture time. The next tick comes at
  /// most 2 ms late, and a millisecond after packets were processed. Called only with FunctionInfo::has_ticks.
  virtual std::uint64_t tick(std::uint64_t /*now*/) noexcept { return kNever; }
  /// Releases all held packets, as far as Emitter::room() allows, because the run ends. Returns true when the data half
  /// holds no packet. Called until it returns true, and again if other workers hand packets over later. Called only
  /// with FunctionInfo::has_ticks.
  virtual bool finish() noexcept { return true; }

  /// Returns one line for `trace`: the fields that the function read from a packet and its decision. Called after the
  /// last resume(). The packet may be gone if its verdict is hold or go_to.
  virtual std::string trace(const Chunk& chunk, std::uint16_t packet) const = 0;
  /// Returns the table entries that decided on a packet, for `explain`: an object of names and values ("entry",
  /// "route", "neighbour"), or an empty one. Called after the last resume() of a dry run on a control thread. The
  /// thread holds no table references, so this function may lock. The tables may have changed since.
  virtual nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const;
};

}  // namespace penumbra
