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

/// A DPDK ethdev of any driver, with as many receive queues as asked for: the device's own where it spreads packets by
/// flow, else those of a software hash. Workers without a transmit queue of their own share one.
class EthdevPort final : public Port {
 public:
  /// Creates and configures the device. Throws std::runtime_error.
  EthdevPort(const control::PortConfig& config, std::uint16_t workers, const PacketPool& pool);
  ~EthdevPort() override;

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return queues_; }
  RxQueue& rx_queue(std::uint16_t queue) override;
  TxQueue& tx_queue(std::uint16_t worker) override { return *tx_queues_[worker]; }
  void start() override;
  void stop() noexcept override;
  Loss ring_loss() const noexcept override { return rss_ ? rss_->loss() : Loss{}; }
  std::vector<DeviceLoss> device_losses() const override;
  bool link_up() const noexcept override;
  std::string why_down() const override;
  bool is_lost() const noexcept override;
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
  std::string interface_;              ///< of af_packet and af_xdp
  std::optional<InterfaceLock> lock_;  ///< on `interface_`
  unsigned interface_index_ = 0;       ///< when it was opened
  mutable std::atomic<bool> is_lost_{false};
  bool completes_ = false;        ///< checksums
  bool hears_itself_ = false;     ///< af_packet: what Linux sends out of the interface, until that is kept off
  std::optional<VethPeer> peer_;  ///< of af_packet: af_xdp attaches a program of its own
  std::optional<ReceiveOffloads> offloads_;  ///< of af_packet
  std::string devargs_;
  SourceLocation location_;
  PacketPool pool_;  ///< before the device, which gives its packets back when it is closed
  std::unique_ptr<Device> device_;
  std::uint16_t queues_;
  QueuePlan plan_;
  bool interrupts_ = true;                            ///< the device is asked for RX interrupts
  std::vector<std::vector<int>> sockets_;             ///< the driver's, by RX queue of the device
  mutable std::atomic<std::uint64_t> overflowed_{0};  ///< frames that their rings had no room for
  std::vector<std::unique_ptr<SharedTx>> shared_tx_;
  std::vector<std::unique_ptr<TxQueue>> tx_queues_;
  std::vector<EthdevRxQueue*> polled_;               ///< all that poll the device, wherever they are owned
  std::vector<std::unique_ptr<RxQueue>> rx_queues_;  ///< without software RSS
  std::unique_ptr<SoftwareRss> rss_;
};

}  // namespace penumbra::io
