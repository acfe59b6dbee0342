// SPDX-License-Identifier: Apache-2.0
//
// Defines the workers' queues of a DPDK ethdev and chooses the number of device queues.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "io/port.h"
#include "io/shared_tx.h"

struct rte_eth_dev_info;

namespace penumbra::io {

/// Use of a device's queues.
struct QueuePlan {
  std::uint16_t rx = 1;  ///< Number of queues to set up, all of which are polled.
  std::uint16_t tx = 1;
  bool rss = false;      ///< True if the device must be configured to spread packets by flow.
  bool spreads = false;  ///< True if different RX queues receive different flows.
};

/// Returns the plan for a port of `queues` RX queues and `workers` sending workers.
QueuePlan plan_queues(const rte_eth_dev_info& info, std::uint16_t queues, std::uint16_t workers);

/// Repairs to make on received packets.
struct RxRepair {
  bool remove_chains = false;       ///< Drop chains: the driver may deliver a frame larger than an mbuf as a chain.
  bool complete_checksums = false;  ///< See io/checksum_completion.h.
};

/// A device's port. Bursts go through MemifGate if the driver needs the gate.
struct GatedPort {
  std::uint16_t port;
  bool gated;

  /// Work like rte_eth_rx_burst() and rte_eth_tx_burst(). On a gated port, one thread at a time may call each function.
  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t capacity) const noexcept;
  std::uint16_t send(std::uint16_t queue, rte_mbuf** packets, std::uint16_t count) const noexcept;
};

/// A worker's receive queue, which polls some RX queues of a device.
class EthdevRxQueue final : public RxQueue {
 public:
  /// `shared` are the port's shared transmit queues, which receive() also serves and which must outlive this object.
  EthdevRxQueue(GatedPort port, std::vector<std::uint16_t> queues, RxRepair repair,
                const std::vector<std::unique_ptr<SharedTx>>& shared)
      : port_(port), queues_(std::move(queues)), repair_(repair), shared_(shared) {}

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override;
  void drain() noexcept override { drained_ = true; }
  bool exhausted() const noexcept override { return drained_; }
  std::vector<int> interrupts() const override { return interrupts_; }
  void arm(bool on) noexcept override;
  /// Requests the RX interrupts of the started device's queues. `sockets` are the sockets of each queue of a socket
  /// driver, which serve as interrupts too.
  void find_interrupts(const std::vector<std::vector<int>>& sockets);
  /// Returns the number of received frames that were dropped because they were too long for one mbuf. Any thread.
  std::uint64_t oversized() const noexcept { return oversized_.load(std::memory_order_relaxed); }
  /// Returns the number of packets whose checksums were completed. Any thread.
  std::uint64_t completed() const noexcept { return completed_.load(std::memory_order_relaxed); }

 private:
  std::uint16_t remove_chains(rte_mbuf** packets, std::uint16_t count) noexcept;
  void complete_checksums(rte_mbuf** packets, std::uint16_t count) noexcept;

  GatedPort port_;
  std::vector<std::uint16_t> queues_;
  std::size_t next_ = 0;
  RxRepair repair_;
  bool drained_ = false;
  std::vector<int> interrupts_;
  std::atomic<std::uint64_t> oversized_{0};
  std::atomic<std::uint64_t> completed_{0};
  const std::vector<std::unique_ptr<SharedTx>>& shared_;
};

/// A transmit queue of a device that only one worker uses.
class EthdevTxQueue final : public TxQueue {
 public:
  EthdevTxQueue(GatedPort port, std::uint16_t queue) : port_(port), queue_(queue) {}
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  void close() noexcept override {}

 private:
  GatedPort port_;
  std::uint16_t queue_;
};

/// A worker's access to a shared transmit queue.
class SharedTxQueue final : public TxQueue {
 public:
  /// Exactly one sharer has `accounts` set and reports the drops.
  SharedTxQueue(SharedTx& shared, bool accounts) : shared_(shared), accounts_(accounts) { shared.add_user(); }
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override { return shared_.send(packets, count); }
  void close() noexcept override { shared_.close(); }
  Loss unsent() const noexcept override { return accounts_ ? shared_.dropped() : Loss{}; }

 private:
  SharedTx& shared_;
  bool accounts_;
};

}  // namespace penumbra::io
