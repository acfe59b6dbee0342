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

/// Executes a chunk's verdicts for one worker and counts them. finish() sends everything before it returns, for each
/// port in the order of the chunk.
class Egress {
 public:
  /// Number of attempts to send before the rest is dropped as tx_full.
  static constexpr unsigned kAttempts = 16;

  /// `worker` is the worker's number, `reasons` the length of the pipeline's list of reasons, `queues` the worker's
  /// transmit queues by port. `host` may be null.
  Egress(std::uint16_t worker, std::size_t reasons, std::vector<io::TxQueue*> queues, HostPath* host,
         WorkerCounters& counters, Tracer& tracer, Captures& captures);

  // The following functions require a stopped worker.
  /// Adds a transmit queue for a new port. After close(), closes the queue at once.
  void add_port(io::TxQueue& queue);
  /// Adds a receive queue.
  void add_receive_queue() { refused_by_host_.push_back(0); }
  /// Sets the host path, which may have been null.
  void set_host(HostPath* host) { host_ = host; }

  /// Executes the verdicts. Afterwards the worker owns no packet of the chunk. `now` is the time stamp counter.
  void finish(InFlightChunk& chunk, std::uint64_t now) noexcept;
  /// Sends the host's packets, each out of the port that its mbuf names; at most Chunk::kCapacity packets.
  void send_from_host(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// Returns the number of packets of a receive queue that were punted but not given to the host. The reason is a limit
  /// or a lack of room.
  std::uint64_t refused_by_host(std::size_t queue) const noexcept { return refused_by_host_[queue]; }
  /// write_out() makes the transmit queues send buffered packets; close() does so at the end.
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
  bool fits_port(std::uint16_t port, rte_mbuf& packet) noexcept;
  bool fits_all_ports(const InFlightChunk& chunk, std::uint16_t packet) noexcept;
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
  std::vector<Group> groups_;        ///< By port; empty between chunks.
  std::vector<std::uint16_t> busy_;  ///< The ports with non-empty groups, each once; has room for all.
  std::uint16_t busy_count_ = 0;
  bool closed_ = false;
  bool traced_ = false;                         ///< true if the chunk has a traced packet
  std::vector<Unsent> unsent_;                  ///< unsent packets of a traced chunk
  std::vector<std::uint64_t> refused_by_host_;  ///< by receive queue
};

}  // namespace penumbra::runtime
