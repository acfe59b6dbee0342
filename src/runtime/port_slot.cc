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
  return queue_ == nullptr ? unsent_before_ : sum_of(unsent_before_, queue_->unsent());
}

io::Loss SlotTxQueue::unwritten() const noexcept {
  return queue_ == nullptr ? unwritten_before_ : sum_of(unwritten_before_, queue_->unwritten());
}

PortSlot::PortSlot(control::PortConfig config, std::unique_ptr<io::Port> port, std::uint16_t workers)
    : config_(std::move(config)), port_(std::move(port)) {
  for (std::uint16_t worker = 0; worker < workers; ++worker) tx_.push_back(std::make_unique<SlotTxQueue>());
  connect();
}

void PortSlot::connect() {
  info_ = port_->info();
  info_.addresses = config_.info.addresses;
  info_.ipv6_addresses = config_.info.ipv6_addresses;
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
  return port_ == nullptr ? ring_loss_before_ : sum_of(ring_loss_before_, port_->ring_loss());
}

std::vector<io::DeviceLoss> PortSlot::device_losses() const {
  std::vector<io::DeviceLoss> losses = device_losses_before_;
  if (port_ != nullptr) add_losses(losses, port_->device_losses());
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
    shown["advice"] = fmt::format("there is no interface {}; the port opens again when it is back", interface_);
  }
  if (!interface_.empty()) shown["reopened"] = reopened_;
  return shown;
}

std::string PortSlot::why_down() const {
  return port_ == nullptr ? fmt::format("there is no interface {}", interface_) : port_->why_down();
}

std::unique_ptr<io::Port> PortSlot::detach() {
  driver_ = port_->show().value("driver", "");
  failure_before_ = port_->failure();
  reopen_ = port_->reopen();
  for (auto& queue : tx_) queue->queue_ = nullptr;
  for (auto& queue : rx_) {
    queue->lost_before_ = queue->lost();
    queue->queue_ = nullptr;
  }
  return std::move(port_);
}

void PortSlot::settle(io::Port& port) {
  const auto workers = static_cast<std::uint16_t>(tx_.size());
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    SlotTxQueue& queue = *tx_[worker];
    if (!queue.ended_) port.tx_queue(worker).close();  // what it holds back leaves, or is counted
  }
  for (std::uint16_t worker = 0; worker < workers; ++worker) {
    SlotTxQueue& queue = *tx_[worker];
    queue.unsent_before_ = sum_of(queue.unsent_before_, port.tx_queue(worker).unsent());
    queue.unwritten_before_ = sum_of(queue.unwritten_before_, port.tx_queue(worker).unwritten());
  }
  ring_loss_before_ = sum_of(ring_loss_before_, port.ring_loss());
  add_losses(device_losses_before_, port.device_losses());
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
