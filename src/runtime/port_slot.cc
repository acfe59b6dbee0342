// SPDX-License-Identifier: Apache-2.0
#include "runtime/port_slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

namespace penumbra::runtime {
namespace {

io::Loss sum_of(const io::Loss& a, const io::Loss& b) {
  return {.packets = a.packets + b.packets, .bytes = a.bytes + b.bytes};
}

void add_losses(std::vector<io::DeviceLoss>& sum, const std::vector<io::DeviceLoss>& more) {
  for (const auto& [what, packets] : more) {
    const auto known = std::ranges::find(sum, what, &io::DeviceLoss::what);
    if (known == sum.end()) {
      sum.push_back({what, packets});
    } else {
      known->packets += packets;
    }
  }
}

}  // namespace

io::Loss SlotTxQueue::unsent() const noexcept {
  io::Loss loss = unsent_before_;
  for (const io::TxQueue* queue : {leaving_, queue_}) {
    if (queue != nullptr) loss = sum_of(loss, queue->unsent());
  }
  return loss;
}

io::Loss SlotTxQueue::unwritten() const noexcept {
  io::Loss loss = unwritten_before_;
  for (const io::TxQueue* queue : {leaving_, queue_}) {
    if (queue != nullptr) loss = sum_of(loss, queue->unwritten());
  }
  return loss;
}

PortSlot::PortSlot(control::PortConfig config, std::unique_ptr<io::Port> port, std::uint16_t workers)
    : config_(std::move(config)), port_(std::move(port)) {
  for (std::uint16_t worker = 0; worker < workers; ++worker) tx_.push_back(std::make_unique<SlotTxQueue>());
  connect();
}

PortInfo PortSlot::info_of(const control::PortConfig& config, const io::Port& port) {
  PortInfo info = port.info();
  info.name = config.info.name;
  info.addresses = config.info.addresses;
  info.ipv6_addresses = config.info.ipv6_addresses;
  return info;
}

void PortSlot::connect() {
  info_ = info_of(config_, *port_);
  interface_ = port_->host_interface();
  for (std::uint16_t queue = 0; queue < port_->rx_queues(); ++queue) {
    if (queue == rx_.size()) rx_.push_back(std::make_unique<SlotRxQueue>());
    rx_[queue]->queue_ = &port_->rx_queue(queue);
    rx_[queue]->closed_ = false;
    if (rx_[queue]->drained_) rx_[queue]->queue_->drain();
  }
  const auto workers = static_cast<std::uint16_t>(tx_.size());
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    tx_[worker]->queue_ = &port_->tx_queue(worker);
    if (tx_[worker]->ended_) tx_[worker]->queue_->close();
  }
}

void PortSlot::start() {
  if (port_ != nullptr) port_->start();
}

void PortSlot::stop() noexcept {
  if (port_ != nullptr) port_->stop();
}

io::Loss PortSlot::ring_loss() const noexcept {
  io::Loss loss = ring_loss_before_;
  for (const io::Port* port : {leaving_, port_.get()}) {
    if (port != nullptr) loss = sum_of(loss, port->ring_loss());
  }
  return loss;
}

std::vector<io::DeviceLoss> PortSlot::device_losses() const {
  std::vector<io::DeviceLoss> losses = device_losses_before_;
  for (const io::Port* port : {leaving_, port_.get()}) {
    if (port != nullptr) add_losses(losses, port->device_losses());
  }
  return losses;
}

std::string PortSlot::host_interface() const {
  return port_ == nullptr ? interface_ : port_->host_interface();
}

nlohmann::ordered_json PortSlot::show() const {
  nlohmann::ordered_json shown;
  if (port_ != nullptr) {
    shown = port_->show();
  } else {
    shown = {{"driver", driver_}, {"link", "down"}};
    shown["advice"] = interface_.empty()
                          ? "the device could not be opened again; the log says why"
                          : fmt::format("there is no interface {}; the port opens again when it is back", interface_);
  }
  if (!interface_.empty()) shown["reopened"] = reopened_;
  return shown;
}

std::string PortSlot::why_down() const {
  if (port_ != nullptr) return port_->why_down();
  return interface_.empty() ? "the device is closed" : fmt::format("there is no interface {}", interface_);
}

std::unique_ptr<io::Port> PortSlot::detach() {
  driver_ = port_->show().value("driver", "");
  failure_before_ = port_->failure();
  reopen_ = port_->reopen();
  for (auto& queue : tx_) {
    queue->leaving_ = std::exchange(queue->queue_, nullptr);
    queue->leaving_open_ = !queue->ended_;
  }
  for (auto& queue : rx_) {
    queue->lost_before_ = queue->lost();
    queue->queue_ = nullptr;
  }
  leaving_ = port_.get();
  return std::move(port_);
}

void PortSlot::settle(io::Port& port) {
  const auto workers = static_cast<std::uint16_t>(tx_.size());
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    const SlotTxQueue& queue = *tx_[worker];
    // close() sends or counts the packets that the queue still holds.
    if (queue.leaving_open_) port.tx_queue(worker).close();
  }
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    SlotTxQueue& queue = *tx_[worker];
    queue.unsent_before_ = sum_of(queue.unsent_before_, port.tx_queue(worker).unsent());
    queue.unwritten_before_ = sum_of(queue.unwritten_before_, port.tx_queue(worker).unwritten());
    queue.leaving_ = nullptr;
  }
  ring_loss_before_ = sum_of(ring_loss_before_, port.ring_loss());
  add_losses(device_losses_before_, port.device_losses());
  failure_before_ = port.failure();
  leaving_ = nullptr;
}

void PortSlot::remove() {
  info_.removed = true;
  reopen_ = nullptr;
  for (auto& queue : rx_) queue->closed_ = true;
}

void PortSlot::replace(control::PortConfig config, std::unique_ptr<io::Port> port) {
  config_ = std::move(config);
  port_ = std::move(port);
  for (auto& queue : rx_) queue->closed_ = true;
  connect();
}

void PortSlot::set_config(control::PortConfig config) {
  config_ = std::move(config);
  info_.name = config_.info.name;
  if (port_ != nullptr) port_->rename(info_.name);
  info_.addresses = config_.info.addresses;
  info_.ipv6_addresses = config_.info.ipv6_addresses;
  if (!std::holds_alternative<control::Ethdev>(config_.device)) info_.mtu = config_.info.mtu;
}

void PortSlot::attach(std::unique_ptr<io::Port> port) {
  port_ = std::move(port);
  ++reopened_;
  connect();
}

}  // namespace penumbra::runtime
