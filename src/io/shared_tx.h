// SPDX-License-Identifier: Apache-2.0
//
// Shares one transmit queue of a device between several workers, if the device has fewer queues than there are workers.
// No worker waits: each puts its packets into a ring. A worker that finds the device unattended sends all packets of
// the ring, including other workers' packets. Packets of one worker leave in order.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "io/port.h"

struct rte_ring;

namespace penumbra::io {

class SharedTx {
 public:
  /// Sends the first packets that the device accepts, and returns their number. Called by one thread at a time.
  using Transmit = std::function<std::uint16_t(rte_mbuf** packets, std::uint16_t count)>;

  /// Creates the queue. `name` must be unique among the rings of this process. Throws std::runtime_error if memory is
  /// short. The EAL must be running.
  SharedTx(const std::string& name, Transmit transmit);
  SharedTx(const SharedTx&) = delete;
  SharedTx& operator=(const SharedTx&) = delete;
  ~SharedTx();

  /// Accepts the first packets for which the ring has room, and returns their number. Any thread.
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// Sends waiting packets until the device accepts no more. Does nothing while another thread is sending. Any thread.
  void pump() noexcept;
  /// Returns true if the device refused packets that should be sent again. Any thread.
  bool waiting() const noexcept { return held_back_.load(std::memory_order_relaxed); }
  /// Adds a sender, which must call close() once. Call before any sender sends.
  void add_user() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Removes a sender. The remaining senders send its packets in the ring. The last sender waits a while for the device
  /// and then drops the packets that it still refuses. Any thread.
  void close() noexcept;
  /// Returns the packets that the last close() dropped. Any thread.
  Loss dropped() const noexcept;

 private:
  static constexpr std::uint16_t kBurst = 64;

  bool transmit_all() noexcept;

  Transmit transmit_;
  std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring_;
  std::atomic<unsigned> users_{0};     ///< Number of senders that have not closed.
  std::atomic<bool> attended_{false};  ///< True while a thread sends. That thread alone may use the members below.
  std::array<rte_mbuf*, kBurst> burst_{};
  std::uint16_t begin_ = 0, end_ = 0;  ///< Range of the burst that still has to be sent.
  std::atomic<bool> held_back_{false};
  std::atomic<std::uint64_t> dropped_packets_{0};
  std::atomic<std::uint64_t> dropped_bytes_{0};
};

}  // namespace penumbra::io
