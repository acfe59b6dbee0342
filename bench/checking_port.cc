// SPDX-License-Identifier: Apache-2.0
#include "checking_port.h"

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

namespace penumbra::bench {
namespace {

constexpr std::size_t kIpv4Destination = 14 + 16;

std::uint64_t mac_at(const std::uint8_t* bytes) {
  std::uint64_t mac = 0;
  for (int i = 0; i < 6; ++i) mac = mac << 8 | bytes[i];
  return mac;
}

class CheckingTxQueue final : public io::TxQueue {
 public:
  CheckingTxQueue(io::TxQueue& queue, std::uint16_t port, CheckedTraffic& traffic)
      : queue_(queue), port_(port), traffic_(traffic) {}

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override {
    for (std::uint16_t i = 0; i < count; ++i) check(rte_pktmbuf_mtod(packets[i], const std::uint8_t*));
    return queue_.send(packets, count);
  }
  void close() noexcept override { queue_.close(); }
  io::Loss unsent() const noexcept override { return queue_.unsent(); }
  io::Loss unwritten() const noexcept override { return queue_.unwritten(); }

 private:
  void check(const std::uint8_t* frame) {
    std::uint32_t destination = 0;
    std::memcpy(&destination, frame + kIpv4Destination, sizeof destination);
    destination = rte_be_to_cpu_32(destination);
    const std::uint32_t allowed = traffic_.truth.allowed(destination);
    const std::uint64_t hop = mac_at(frame) - mac_of_hop(0).value;
    const bool right =
        hop < traffic_.port_of_hop.size() && traffic_.port_of_hop[hop] == port_ && (allowed >> hop & 1) != 0;
    traffic_.checked.fetch_add(1, std::memory_order_relaxed);
    if (!std::has_single_bit(allowed)) traffic_.ambiguous.fetch_add(1, std::memory_order_relaxed);
    if (!right && traffic_.wrong.fetch_add(1, std::memory_order_relaxed) == 0) traffic_.first_wrong = destination;
  }

  io::TxQueue& queue_;
  std::uint16_t port_;
  CheckedTraffic& traffic_;
};

class CheckingPort final : public io::Port {
 public:
  CheckingPort(std::unique_ptr<io::Port> port, std::uint16_t workers, CheckedTraffic& traffic)
      : port_(std::move(port)) {
    for (std::uint16_t worker = 0; worker < workers; ++worker) {
      queues_.push_back(std::make_unique<CheckingTxQueue>(port_->tx_queue(worker), port_->info().index, traffic));
    }
  }

  const PortInfo& info() const override { return port_->info(); }
  std::uint16_t rx_queues() const override { return port_->rx_queues(); }
  io::RxQueue& rx_queue(std::uint16_t queue) override { return port_->rx_queue(queue); }
  io::TxQueue& tx_queue(std::uint16_t worker) override { return *queues_[worker]; }
  void start() override { port_->start(); }
  void stop() noexcept override { port_->stop(); }
  io::Loss ring_loss() const noexcept override { return port_->ring_loss(); }
  std::vector<io::DeviceLoss> device_losses() const override { return port_->device_losses(); }
  nlohmann::ordered_json show() const override { return port_->show(); }

 private:
  std::unique_ptr<io::Port> port_;
  std::vector<std::unique_ptr<CheckingTxQueue>> queues_;
};

}  // namespace

std::vector<std::unique_ptr<io::Port>> open_checking_ports(std::span<const control::PortConfig> configs,
                                                           std::uint16_t workers, CheckedTraffic& traffic) {
  std::vector<std::unique_ptr<io::Port>> ports;
  for (auto& port : io::open_ports(configs, workers)) {
    ports.push_back(std::make_unique<CheckingPort>(std::move(port), workers, traffic));
  }
  return ports;
}

}  // namespace penumbra::bench
