// SPDX-License-Identifier: Apache-2.0
//
// Queues of a DPDK ethdev as workers see them, and how many of them a driver is asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "io/port.h"
#include "io/shared_tx.h"

struct rte_eth_dev_info;

namespace penumbra::io {

/// How a device's queues are used.
struct QueuePlan {
  std::uint16_t rx = 1;  ///< queues to set up, all of them polled
  std::uint16_t tx = 1;
  bool rss = false;      ///< the device is to be told to spread by flow
  bool spreads = false;  ///< what comes in on different RX queues is of different flows
};

/// For a port of `queues` RX queues whose packets go out from `workers` workers.
QueuePlan plan_queues(const rte_eth_dev_info& info, std::uint16_t queues, std::uint16_t workers);

/// What has to be done to the packets that a device gives.
struct RxRepair {
  bool remove_chains = false;       ///< a frame larger than an mbuf may come as a chain
  bool complete_checksums = false;  ///< io/checksum_completion.h
};

/// A device's port, whose queues' bursts go by way of MemifGate if its driver wants that.
struct GatedPort {
  std::uint16_t port;
  bool gated;

  /// As rte_eth_rx_burst() and rte_eth_tx_burst(). Of a gated port each by one thread at a time.
  std::uint16_t receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t capacity) const noexcept;
  std::uint16_t send(std::uint16_t queue, rte_mbuf** packets, std::uint16_t count) const noexcept;
};

/// Polls some RX queues of a device.
class EthdevRxQueue final : public RxQueue {
 public:
  /// `shared` are the port's shared transmit queues, which are helped along; they outlive this.
  EthdevRxQueue(GatedPort port, std::vector<std::uint16_t> queues, RxRepair repair,
                const std::vector<std::unique_ptr<SharedTx>>& shared)
      : port_(port), queues_(std::move(queues)), repair_(repair), shared_(shared) {}

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override;
  void drain() noexcept override { drained_ = true; }
  bool exhausted() const noexcept override { return drained_; }
  std::vector<int> interrupts() const override { return interrupts_; }
  void arm(bool on) noexcept override;
  /// Asks the started device for its queues' RX interrupts. `sockets` are those of each queue of a device that is
  /// sockets: they do as well.
  void find_interrupts(const std::vector<std::vector<int>>& sockets);
  /// Frames too long for one mbuf, which were not received. Any thread.
  std::uint64_t oversized() const noexcept { return oversized_.load(std::memory_order_relaxed); }
  /// Packets whose checksums were completed. Any thread.
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

/// A transmit queue of a device that one worker has to itself.
class EthdevTxQueue final : public TxQueue {
 public:
  EthdevTxQueue(GatedPort port, std::uint16_t queue) : port_(port), queue_(queue) {}
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override;
  void close() noexcept override {}

 private:
  GatedPort port_;
  std::uint16_t queue_;
};

/// A worker's share in a transmit queue.
class SharedTxQueue final : public TxQueue {
 public:
  /// One of the sharers is the one that `accounts` for what was dropped.
  SharedTxQueue(SharedTx& shared, bool accounts) : shared_(shared), accounts_(accounts) { shared.add_user(); }
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override { return shared_.send(packets, count); }
  void close() noexcept override { shared_.close(); }
  Loss unsent() const noexcept override { return accounts_ ? shared_.dropped() : Loss{}; }

 private:
  SharedTx& shared_;
  bool accounts_;
};

}  // namespace penumbra::io
