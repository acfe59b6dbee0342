// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "io/ethdev_queues.h"
#include "io/interface_lock.h"
#include "io/packet_pool.h"
#include "io/port.h"
#include "io/receive_offloads.h"
#include "io/shared_tx.h"
#include "io/software_rss.h"
#include "io/veth_peer.h"

namespace penumbra::io {

/// A DPDK ethdev of any driver, with the configured number of receive queues. If the device does not spread packets by
/// flow, a software hash fills the queues. Workers without a transmit queue of their own share one.
class EthdevPort final : public Port {
 public:
  /// Creates and configures the device. Throws std::runtime_error.
  EthdevPort(const control::PortConfig& config, std::uint16_t workers, const PacketPool& pool);
  ~EthdevPort() override;

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return queues_; }
  RxQueue& rx_queue(std::uint16_t queue) override;
  TxQueue& tx_queue(std::uint16_t worker) override { return *tx_queues_[worker]; }
  bool spreads_by_flow() const override { return rss_ != nullptr || queues_ == 1; }
  void start() override;
  void stop() noexcept override;
  Loss ring_loss() const noexcept override { return rss_ ? rss_->loss() : Loss{}; }
  std::vector<DeviceLoss> device_losses() const override;
  bool link_up() const noexcept override;
  std::string why_down() const override;
  bool is_lost() const noexcept override;
  void rename(const std::string& name) override { config_.info.name = info_.name = name; }
  Reopen reopen() const override;
  std::shared_ptr<void> memory() const override { return pool_; }
  std::string host_interface() const override { return interface_; }
  nlohmann::ordered_json show() const override;

 private:
  class Device;

  void configure();
  void start_device();
  void forget_what_came_before_start();
  void settle_mac();
  void make_rx_queues(RxRepair repair);
  void make_tx_queues(std::uint16_t workers);

  control::PortConfig config_;
  std::uint16_t workers_;
  PortInfo info_;
  std::string interface_;              ///< Linux interface of af_packet and af_xdp.
  std::optional<InterfaceLock> lock_;  ///< Lock on `interface_`.
  unsigned interface_index_ = 0;       ///< Index of the interface when it was opened.
  mutable std::atomic<bool> is_lost_{false};
  bool completes_ = false;  ///< True if the port completes checksums.
  /// af_packet: true if the socket receives packets that Linux sends, until the filter is installed.
  bool hears_itself_ = false;
  std::optional<VethPeer> peer_;             ///< Set for af_packet; af_xdp attaches its own program.
  std::optional<ReceiveOffloads> offloads_;  ///< Set for af_packet.
  std::string devargs_;
  SourceLocation location_;
  PacketPool pool_;  ///< Declared before the device, which returns its packets when it is closed.
  std::unique_ptr<Device> device_;
  std::uint16_t queues_;
  QueuePlan plan_;
  bool is_symmetric_ = false;              ///< True if the started device sends both directions of a flow to one queue.
  bool interrupts_ = true;                 ///< True if RX interrupts are requested from the device.
  std::vector<std::vector<int>> sockets_;  ///< The driver's sockets, by RX queue of the device.
  mutable std::atomic<std::uint64_t> overflowed_{0};  ///< Frames dropped because the rings of `sockets_` were full.
  std::vector<std::unique_ptr<SharedTx>> shared_tx_;
  std::vector<std::unique_ptr<TxQueue>> tx_queues_;
  std::vector<EthdevRxQueue*> polled_;               ///< All queues that poll the device, whoever owns them.
  std::vector<std::unique_ptr<RxQueue>> rx_queues_;  ///< Queues of a port without software RSS.
  std::unique_ptr<SoftwareRss> rss_;
};

}  // namespace penumbra::io
