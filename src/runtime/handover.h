// SPDX-License-Identifier: Apache-2.0
//
// Hands packets from one worker to another, if a function made a packet of a flow that another worker receives.
#pragma once

#include <rte_mbuf.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/doorbell.h"
#include "io/packet_ring.h"

namespace penumbra::runtime {

/// Has a ring for each pair of workers. All packets of a flow from one worker to another use one ring, so they keep
/// their order.
class Handover {
 public:
  /// Throws std::runtime_error if memory is short. The EAL must be running.
  explicit Handover(std::uint16_t workers);

  /// Sets the workers of a port's queues, by queue. Empty: the device chooses queues in an unknown way. No worker may
  /// run meanwhile.
  void set_port(std::uint16_t port, std::vector<std::uint16_t> workers_of_queues);
  /// Sets the doorbell of a worker, before the workers run.
  void set_doorbell(std::uint16_t worker, Doorbell& doorbell) { doorbells_[worker] = &doorbell; }

  /// Returns the worker that receives the flow of a packet from port `packet.port`, or `self` if that is unknown.
  std::uint16_t worker_of(rte_mbuf& packet, std::uint16_t self) const noexcept;
  /// Gives a packet to another worker. Returns false if the ring is full; the caller then keeps the packet.
  bool put(std::uint16_t from, std::uint16_t to, rte_mbuf* packet) noexcept;
  /// Returns true if take() would return a packet.
  bool has_packets(std::uint16_t to) const noexcept;
  /// Takes up to `capacity` packets for worker `to`, which must be busy. Starts with another sender each time.
  std::uint16_t take(std::uint16_t to, rte_mbuf** packets, std::uint16_t capacity) noexcept;

  // The end of a run: a worker that has nothing left to do becomes idle, but packets of busy workers may still come.
  // All workers are busy at first.
  void become_idle() noexcept { busy_and_packets_.fetch_sub(1); }
  void become_busy() noexcept { busy_and_packets_.fetch_add(1); }
  /// Returns true if every worker is idle and no ring has a packet, which then stays so.
  bool is_over() const noexcept { return busy_and_packets_.load() == 0; }

 private:
  io::PacketRing& ring(std::uint16_t from, std::uint16_t to) const { return *rings_[from * workers_ + to]; }

  const std::size_t workers_;
  std::vector<std::unique_ptr<io::PacketRing>> rings_;  ///< By sender and receiver; null for a worker itself.
  std::vector<Doorbell*> doorbells_;
  std::vector<std::vector<std::uint16_t>> queues_;  ///< By port: the workers of its queues.
  std::vector<std::uint16_t> turns_;                ///< By receiver: the sender of the next take().
  std::atomic<std::uint64_t> busy_and_packets_;     ///< Busy workers and packets in rings.
};

}  // namespace penumbra::runtime
