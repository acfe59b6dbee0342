// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "io/port.h"
#include "penumbra/chunk.h"
#include "runtime/capture.h"
#include "runtime/counters.h"
#include "runtime/host_path.h"
#include "runtime/in_flight_chunk.h"
#include "runtime/pipeline.h"
#include "runtime/trace.h"

namespace penumbra::runtime {

/// The end of the way, for one worker: carries out a chunk's verdicts and counts them. Everything is sent before
/// finish() returns, in the order of the chunk per port; nothing lingers.
class Egress {
 public:
  /// How often a transmit queue is asked again to take the rest before the rest is dropped as tx_full.
  static constexpr unsigned kAttempts = 16;

  /// Of worker number `worker`; `reasons` is the length of the pipeline's list, `queues` the worker's transmit queues
  /// by port; `host` may be null.
  Egress(std::uint16_t worker, std::size_t reasons, std::vector<io::TxQueue*> queues, HostPath* host,
         WorkerCounters& counters, Tracer& tracer, Captures& captures);

  // While the worker stands still:
  /// There is one more port. After close() its queue is closed at once.
  void add_port(io::TxQueue& queue);
  /// There is one more receive queue.
  void add_receive_queue() { refused_by_host_.push_back(0); }
  /// There is a host path from now on.
  void set_host(HostPath* host) { host_ = host; }

  /// Afterwards none of the chunk's packets is the worker's.
  void finish(InFlightChunk& chunk, std::uint64_t now) noexcept;
  /// Sends what the host wants sent, each out of the port that its mbuf names; at most Chunk::kCapacity packets.
  void send_from_host(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// Packets from that receive queue of the worker that the host was to have and did not take: over a limit, or no
  /// room.
  std::uint64_t refused_by_host(std::size_t queue) const noexcept { return refused_by_host_[queue]; }
  /// Lets the transmit queues write out what they hold back, now and at the end.
  void write_out() noexcept;
  void close() noexcept;

 private:
  struct Group {
    std::uint16_t count = 0;
    std::array<rte_mbuf*, Chunk::kCapacity> packets;
  };
  struct Unsent {
    const rte_mbuf* packet;
    std::uint16_t port;
    RuntimeReason reason;
  };
  bool add(std::uint16_t port, rte_mbuf* packet) noexcept;
  bool replicate(const InFlightChunk& chunk, std::uint16_t packet) noexcept;
  std::uint16_t add_copies(const InFlightChunk& chunk, std::span<const std::uint16_t> ports, rte_mbuf& packet) noexcept;
  void drop_copies(const Replication& replication, const rte_mbuf& packet) noexcept;
  Verdict verdict_of_dropped(const Replication& replication) const noexcept;
  void send(std::uint16_t port) noexcept;
  Verdict outcome(const rte_mbuf* packet, std::uint16_t port) const;
  void note_traces(InFlightChunk& chunk);

  std::uint16_t worker_;
  std::size_t reasons_;
  std::vector<io::TxQueue*> queues_;
  HostPath* host_;
  WorkerCounters& counters_;
  Tracer& tracer_;
  Captures& captures_;
  std::vector<Group> groups_;        ///< by port; empty between chunks
  std::vector<std::uint16_t> busy_;  ///< the ports whose groups are not empty, each once; room for all
  std::uint16_t busy_count_ = 0;
  bool closed_ = false;
  bool traced_ = false;                         ///< some packet of the chunk is
  std::vector<Unsent> unsent_;                  ///< of a traced chunk
  std::vector<std::uint64_t> refused_by_host_;  ///< by receive queue
};

}  // namespace penumbra::runtime
