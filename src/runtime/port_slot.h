// SPDX-License-Identifier: Apache-2.0
//
// Keeps a port's place in the router. Functions know the port by the index of its place. The device may go and return,
// and the port may be removed, while workers, counters and other users keep references to the place.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "control/port_config.h"
#include "io/port.h"

namespace penumbra::runtime {

/// Implements a place's receive queue. It forwards to the device's queue, if there is a device.
class SlotRxQueue final : public io::RxQueue {
 public:
  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    return queue_ == nullptr ? 0 : queue_->receive(packets, capacity);
  }
  std::uint64_t lost() const noexcept override { return lost_before_ + (queue_ == nullptr ? 0 : queue_->lost()); }
  void drain() noexcept override {
    drained_ = true;
    if (queue_ != nullptr) queue_->drain();
  }
  /// Without a device, packets may still arrive later, unless the port is removed or the run ends.
  bool exhausted() const noexcept override { return queue_ == nullptr ? drained_ || closed_ : queue_->exhausted(); }
  std::vector<int> interrupts() const override { return queue_ == nullptr ? std::vector<int>{} : queue_->interrupts(); }
  void arm(bool on) noexcept override {
    if (queue_ != nullptr) queue_->arm(on);
  }

 private:
  friend class PortSlot;
  io::RxQueue* queue_ = nullptr;  ///< The device's queue; null: there is no device.
  bool drained_ = false;
  bool closed_ = false;  ///< The port is removed.
  std::uint64_t lost_before_ = 0;
};

/// Implements a worker's transmit queue of a place. Without a device it accepts no packets.
class SlotTxQueue final : public io::TxQueue {
 public:
  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override {
    return queue_ == nullptr ? 0 : queue_->send(packets, count);
  }
  void write_out() noexcept override {
    if (queue_ != nullptr) queue_->write_out();
  }
  void close() noexcept override {
    ended_ = true;
    if (queue_ != nullptr) queue_->close();
  }
  bool is_open() const noexcept override { return queue_ != nullptr; }
  bool takes_chains() const noexcept override { return queue_ != nullptr && queue_->takes_chains(); }
  io::Loss unsent() const noexcept override;
  io::Loss unwritten() const noexcept override;

 private:
  friend class PortSlot;
  io::TxQueue* queue_ = nullptr;
  bool ended_ = false;              ///< the worker has closed the queue
  io::TxQueue* leaving_ = nullptr;  ///< queue of a device that is detached and not settled; otherwise null
  bool leaving_open_ = false;       ///< true if the worker had not closed leaving_ when the device was detached
  io::Loss unsent_before_, unwritten_before_;  ///< losses of earlier devices
};

/// Fills a place with an open port. The router must stop the workers (runtime/quiesce.h) and exclude other users while
/// the device or the settings change.
class PortSlot final : public io::Port {
 public:
  PortSlot(control::PortConfig config, std::unique_ptr<io::Port> port, std::uint16_t workers);

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return static_cast<std::uint16_t>(rx_.size()); }
  io::RxQueue& rx_queue(std::uint16_t queue) override { return *rx_[queue]; }
  io::TxQueue& tx_queue(std::uint16_t worker) override { return *tx_[worker]; }
  bool spreads_by_flow() const override {
    return port_ != nullptr && port_->rx_queues() == rx_queues() && port_->spreads_by_flow();
  }
  void start() override;
  void stop() noexcept override;
  io::Loss ring_loss() const noexcept override;
  std::vector<io::DeviceLoss> device_losses() const override;
  bool link_up() const noexcept override { return port_ != nullptr && port_->link_up(); }
  std::string host_interface() const override;
  nlohmann::ordered_json show() const override;
  std::string failure() const override { return port_ == nullptr ? failure_before_ : port_->failure(); }
  std::string why_down() const override;
  std::shared_ptr<void> memory() const override { return port_ == nullptr ? nullptr : port_->memory(); }
  bool is_lost() const noexcept override { return port_ != nullptr && port_->is_lost(); }

  const control::PortConfig& config() const { return config_; }
  bool has_device() const { return port_ != nullptr; }
  /// Returns how often the device was reopened.
  std::uint64_t reopened() const { return reopened_; }

  /// Takes the device out and returns it for settle(), which may take long. Until settle(), the losses of the device
  /// count as before.
  std::unique_ptr<io::Port> detach();
  /// Closes the queues of a detached device and keeps its losses. Workers may run meanwhile.
  void settle(io::Port& port);
  bool may_reopen() const { return reopen_ != nullptr; }
  /// Opens the device again while the place has none. Workers may run meanwhile. Throws std::runtime_error.
  std::unique_ptr<io::Port> open_device() const { return reopen_(); }
  /// Returns the info() of a place with this configuration and device.
  static PortInfo info_of(const control::PortConfig& config, const io::Port& port);
  /// Sets an open and started device of the same configuration. The place must have no device.
  void attach(std::unique_ptr<io::Port> port);

  bool is_removed() const { return info_.removed; }
  /// Removes the port. The device must be detached.
  void remove();
  /// Sets the configuration and an open and started device, for a returning or changed port.
  void replace(control::PortConfig config, std::unique_ptr<io::Port> port);
  /// Changes settings that do not affect the device: the name, addresses and the twin.
  void set_config(control::PortConfig config);
  /// Sets the function that opens the device.
  void set_reopen(io::Reopen reopen) { reopen_ = std::move(reopen); }

 private:
  void connect();

  control::PortConfig config_;
  PortInfo info_;
  std::unique_ptr<io::Port> port_;  ///< null: the device is gone
  io::Port* leaving_ = nullptr;     ///< device that is detached and not settled; otherwise null
  std::vector<std::unique_ptr<SlotRxQueue>> rx_;
  std::vector<std::unique_ptr<SlotTxQueue>> tx_;
  io::Loss ring_loss_before_;
  std::vector<io::DeviceLoss> device_losses_before_;
  std::string failure_before_;
  std::string driver_, interface_;  ///< Properties of the last device.
  io::Reopen reopen_;
  std::uint64_t reopened_ = 0;
};

}  // namespace penumbra::runtime
