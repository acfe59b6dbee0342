// SPDX-License-Identifier: Apache-2.0
#include "io/ethdev_queues.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "io/checksum_completion.h"
#include "io/memif_gate.h"

namespace penumbra::io {
namespace {

/// Properties of drivers that DPDK does not report.
struct DriverTraits {
  std::string_view name;
  bool every_queue = false;  ///< True if each existing RX queue has its own input, so all queues must be polled.
  bool spreads = false;      ///< True if the device sends a flow always to the same queue without configuration.
  /// True if the device must have one queue pair: the peer would fill further queues arbitrarily or not read them.
  bool one_pair = false;
};
constexpr std::array<DriverTraits, 8> kTraits{{
    // See fault_of_arguments() in device_arguments.cc.
    {.name = "net_af_packet", .one_pair = true},
    {.name = "net_af_xdp", .every_queue = true, .spreads = true},  // The network card's own queues.
    {.name = "net_pcap", .every_queue = true},                     // Each queue is a file or an interface.
    {.name = "net_ring", .every_queue = true},
    {.name = "net_tap", .one_pair = true},  // The kernel moves flows between queues.
    {.name = "net_tun", .one_pair = true},
    {.name = "net_memif", .one_pair = true},  // The peer must have the same number of queues.
    {.name = "net_vdev_netvsc", .one_pair = true},
}};
constexpr std::uint16_t kMostQueues = 64;

DriverTraits traits_of(std::string_view driver) {
  const auto* const found =
      std::find_if(kTraits.begin(), kTraits.end(), [&](const DriverTraits& traits) { return traits.name == driver; });
  return found == kTraits.end() ? DriverTraits{.name = driver} : *found;
}

}  // namespace

QueuePlan plan_queues(const rte_eth_dev_info& info, std::uint16_t queues, std::uint16_t workers) {
  const DriverTraits traits = traits_of(info.driver_name);
  const bool rss = info.flow_type_rss_offloads != 0 && !traits.one_pair && !traits.every_queue;
  const std::uint16_t most_rx = std::clamp<std::uint16_t>(info.max_rx_queues, 1, kMostQueues);
  const std::uint16_t most_tx = std::clamp<std::uint16_t>(info.max_tx_queues, 1, kMostQueues);
  // A paravirtual device has one number of queue pairs, and the host fills all of them.
  const bool virtio = std::string_view(info.driver_name).starts_with("net_virtio");
  const bool one_pair = traits.one_pair || (virtio && !rss);
  QueuePlan plan;
  plan.rss = rss && queues > 1 && most_rx > 1;
  plan.spreads = plan.rss || traits.spreads;
  plan.rx = traits.every_queue ? most_rx : plan.rss ? std::min(queues, most_rx) : std::uint16_t{1};
  plan.tx = one_pair ? std::uint16_t{1} : std::min(workers, most_tx);
  return plan;
}

std::uint16_t GatedPort::receive(std::uint16_t queue, rte_mbuf** packets, std::uint16_t capacity) const noexcept {
  if (!gated) return rte_eth_rx_burst(port, queue, packets, capacity);
  return MemifGate::instance().pass(MemifGate::rx(port),
                                    [&] { return rte_eth_rx_burst(port, queue, packets, capacity); });
}

std::uint16_t GatedPort::send(std::uint16_t queue, rte_mbuf** packets, std::uint16_t count) const noexcept {
  if (!gated) return rte_eth_tx_burst(port, queue, packets, count);
  return MemifGate::instance().pass(MemifGate::tx(port), [&] { return rte_eth_tx_burst(port, queue, packets, count); });
}

std::uint16_t EthdevRxQueue::receive(rte_mbuf** packets, std::uint16_t capacity) noexcept {
  for (const auto& shared : shared_) {
    if (shared->waiting()) shared->pump();
  }
  if (drained_) return 0;
  std::uint16_t count = 0;
  for (std::size_t i = 0; i < queues_.size() && count < capacity; ++i) {
    count += port_.receive(queues_[next_], packets + count, capacity - count);
    if (++next_ == queues_.size()) next_ = 0;
  }
  if (repair_.complete_checksums) complete_checksums(packets, count);
  return repair_.remove_chains ? remove_chains(packets, count) : count;
}

void EthdevRxQueue::find_interrupts(const std::vector<std::vector<int>>& sockets) {
  interrupts_.clear();
  for (const std::uint16_t queue : queues_) {
    interrupts_.insert(interrupts_.end(), sockets[queue].begin(), sockets[queue].end());
    const int descriptor = rte_eth_dev_rx_intr_ctl_q_get_fd(port_.port, queue);
    if (descriptor >= 0) interrupts_.push_back(descriptor);
  }
}

void EthdevRxQueue::arm(bool on) noexcept {
  for (const std::uint16_t queue : queues_) {
    // A driver that cannot switch interrupts keeps them enabled.
    if (on) {
      rte_eth_dev_rx_intr_enable(port_.port, queue);
    } else {
      rte_eth_dev_rx_intr_disable(port_.port, queue);
    }
  }
}

std::uint16_t EthdevRxQueue::remove_chains(rte_mbuf** packets, std::uint16_t count) noexcept {
  std::uint16_t kept = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    if (packets[i]->nb_segs == 1) {
      packets[kept++] = packets[i];
    } else {
      rte_pktmbuf_free(packets[i]);
      oversized_.store(oversized_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  return kept;
}

void EthdevRxQueue::complete_checksums(rte_mbuf** packets, std::uint16_t count) noexcept {
  std::uint64_t completed = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    if (complete_checksum({rte_pktmbuf_mtod(packets[i], std::uint8_t*), packets[i]->data_len})) ++completed;
  }
  if (completed > 0)
    completed_.store(completed_.load(std::memory_order_relaxed) + completed, std::memory_order_relaxed);
}

std::uint16_t EthdevTxQueue::send(rte_mbuf** packets, std::uint16_t count) noexcept {
  return port_.send(queue_, packets, count);
}

}  // namespace penumbra::io
