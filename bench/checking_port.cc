// SPDX-License-Identifier: Apache-2.0
#include "checking_port.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace penumbra::bench {
namespace {

class CheckingTxQueue final : public io::TxQueue {
 public:
  CheckingTxQueue(io::TxQueue& queue, std::uint16_t port, CheckedPackets& packets)
      : queue_(queue), port_(port), packets_(packets) {}

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override {
    for (std::uint16_t i = 0; i < count; ++i) {
      packets_.check(port_, {rte_pktmbuf_mtod(packets[i], const std::uint8_t*), rte_pktmbuf_data_len(packets[i])});
    }
    return queue_.send(packets, count);
  }
  void close() noexcept override { queue_.close(); }
  io::Loss unsent() const noexcept override { return queue_.unsent(); }
  io::Loss unwritten() const noexcept override { return queue_.unwritten(); }

 private:
  io::TxQueue& queue_;
  std::uint16_t port_;
  CheckedPackets& packets_;
};

class CheckingPort final : public io::Port {
 public:
  CheckingPort(std::unique_ptr<io::Port> port, std::uint16_t workers, CheckedPackets& packets)
      : port_(std::move(port)) {
    for (std::uint16_t worker = 0; worker < workers; ++worker) {
      queues_.push_back(std::make_unique<CheckingTxQueue>(port_->tx_queue(worker), port_->info().index, packets));
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

void CheckedPackets::check(std::uint16_t port, std::span<const std::uint8_t> frame) {
  checked_.fetch_add(1, std::memory_order_relaxed);
  if (may_leave_(port, frame) || wrong_.fetch_add(1, std::memory_order_relaxed) != 0) return;
  first_port_ = port;
  const auto shown = frame.first(std::min(frame.size(), kShown));
  first_wrong_.assign(shown.begin(), shown.end());
}

std::optional<std::string> CheckedPackets::wrong_in_words() const {
  if (wrong_ == 0) return std::nullopt;
  return fmt::format("{} of {} packets went where none may go, the first by port {}: {:02x}", wrong_.load(),
                     checked_.load(), first_port_, fmt::join(first_wrong_, ""));
}

std::vector<std::unique_ptr<io::Port>> open_checking_ports(std::span<const control::PortConfig> configs,
                                                           std::uint16_t workers, CheckedPackets& packets) {
  std::vector<std::unique_ptr<io::Port>> ports;
  for (auto& port : io::open_ports(configs, workers)) {
    ports.push_back(std::make_unique<CheckingPort>(std::move(port), workers, packets));
  }
  return ports;
}

}  // namespace penumbra::bench
