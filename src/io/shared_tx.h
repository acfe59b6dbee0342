// SPDX-License-Identifier: Apache-2.0
//
// One transmit queue of a device for several workers, where it has fewer than there are workers. Nobody waits for
// anybody: a worker puts its packets into a ring, and whoever then finds the device unattended sends all that is there,
// its own and others'. Packets of one worker leave in their order.
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
  /// Sends packets, the first of which it takes; returns how many. Called by one thread at a time.
  using Transmit = std::function<std::uint16_t(rte_mbuf** packets, std::uint16_t count)>;

  /// `name` is unique among the rings of this process. Throws std::runtime_error for want of memory. The EAL must run.
  SharedTx(const std::string& name, Transmit transmit);
  SharedTx(const SharedTx&) = delete;
  SharedTx& operator=(const SharedTx&) = delete;
  ~SharedTx();

  /// Takes as many packets as the ring has room for, always the first ones; returns how many. Any thread.
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept;
  /// Sends what waits, as far as the device takes it and no other thread is at it. Any thread.
  void pump() noexcept;
  /// Whether the device left something behind that should be tried again. Any thread.
  bool waiting() const noexcept { return held_back_.load(std::memory_order_relaxed); }
  /// One more will send, and close it once. Before any of them sends.
  void add_user() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// A user is done. What it leaves in the ring the others send; the last one sends what waits with some patience, and
  /// then drops what the device still refuses. Any thread.
  void close() noexcept;
  /// What the last close() dropped. Any thread.
  Loss dropped() const noexcept;

 private:
  static constexpr std::uint16_t kBurst = 64;

  bool transmit_all() noexcept;

  Transmit transmit_;
  std::unique_ptr<rte_ring, void (*)(rte_ring*)> ring_;
  std::atomic<unsigned> users_{0};     ///< that are not done
  std::atomic<bool> attended_{false};  ///< a thread sends; what follows is its own as long as it does
  std::array<rte_mbuf*, kBurst> burst_{};
  std::uint16_t begin_ = 0, end_ = 0;  ///< what of the burst has still to be sent
  std::atomic<bool> held_back_{false};
  std::atomic<std::uint64_t> dropped_packets_{0};
  std::atomic<std::uint64_t> dropped_bytes_{0};
};

}  // namespace penumbra::io
