// SPDX-License-Identifier: Apache-2.0
#include "runtime/scripted_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <variant>

#include "penumbra/errors.h"

namespace penumbra::runtime::test {
namespace {

constexpr std::array kNames{"a", "b", "c", "d"};

class ScriptedRx final : public io::RxQueue {
 public:
  explicit ScriptedRx(DeviceScript& script) : script_(script) {}

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    constexpr std::uint64_t kBurst = 8;
    const auto count = static_cast<unsigned>(std::min({std::uint64_t{capacity}, kBurst, left()}));
    if (drained_ || count == 0 || rte_pktmbuf_alloc_bulk(packet_memory(), packets, count) != 0) return 0;
    for (unsigned i = 0; i < count; ++i) {
      Frame& frame = *reinterpret_cast<Frame*>(rte_pktmbuf_append(packets[i], sizeof(Frame)));
      frame = Frame{};
      const auto egress = static_cast<std::uint8_t>(given_ / kBurst + i);
      frame.orders = {i % 2 == 0 ? Order::late_pass : Order::late_send, Order::late_send};
      frame.egress = {egress, egress};
    }
    given_ += count;
    script_.given += count;
    return static_cast<std::uint16_t>(count);
  }
  void drain() noexcept override {
    drained_ = true;
    script_.drained = true;
  }
  bool exhausted() const noexcept override { return left() == 0 || (drained_ && !script_.holds_drained); }

 private:
  std::uint64_t left() const {
    const std::uint64_t packets = script_.packets;
    return packets - std::min(packets, given_);
  }

  DeviceScript& script_;
  std::uint64_t given_ = 0;
  bool drained_ = false;
};

/// Holds packets until it has a burst of them. close() cannot send the last packet.
class ScriptedTx final : public io::TxQueue {
 public:
  explicit ScriptedTx(DeviceScript& script) : script_(script) {}
  ~ScriptedTx() override {
    if (closing_ || !held_.empty()) ++script_.breaches;
  }

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override {
    if (closed_) ++script_.breaches;
    held_.insert(held_.end(), packets, packets + count);
    if (held_.size() >= kBurst) write_out();
    return count;
  }
  void write_out() noexcept override {
    rte_pktmbuf_free_bulk(held_.data(), static_cast<unsigned>(held_.size()));
    script_.delivered += held_.size();
    held_.clear();
  }
  void close() noexcept override {
    if (std::exchange(closed_, true)) ++script_.breaches;
    closing_ = true;
    script_.at_close();
    if (!held_.empty()) {
      rte_pktmbuf_free(held_.back());
      held_.pop_back();
      ++unsent_;
      ++script_.unsent;
    }
    write_out();
    closing_ = false;
  }
  io::Loss unsent() const noexcept override { return {.packets = unsent_, .bytes = unsent_ * sizeof(Frame)}; }

 private:
  static constexpr std::size_t kBurst = 32;
  DeviceScript& script_;
  std::vector<rte_mbuf*> held_;
  std::atomic<std::uint64_t> unsent_{0};
  std::atomic<bool> closing_{false};
  bool closed_ = false;
};

class ScriptedPort final : public io::Port {
 public:
  ScriptedPort(DeviceScript& script, control::PortConfig config, std::uint16_t workers)
      : script_(script), config_(std::move(config)), info_(config_.info) {
    info_.mac.value = 0x020000000100U + info_.index;
    for (std::uint16_t i = 0; i < workers; ++i) {
      rx_.push_back(std::make_unique<ScriptedRx>(script_));
      tx_.push_back(std::make_unique<ScriptedTx>(script_));
    }
    script_.mtu = info_.mtu;
  }
  ~ScriptedPort() override { --script_.alive; }

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return static_cast<std::uint16_t>(rx_.size()); }
  io::RxQueue& rx_queue(std::uint16_t queue) override { return *rx_[queue]; }
  io::TxQueue& tx_queue(std::uint16_t worker) override { return *tx_[worker]; }
  void start() override {}
  void stop() noexcept override {}
  io::Loss ring_loss() const noexcept override { return {}; }
  nlohmann::ordered_json show() const override { return {{"driver", "scripted"}}; }
  std::shared_ptr<void> memory() const override { return script_.memory; }
  bool is_lost() const noexcept override { return script_.lost; }
  io::Reopen reopen() const override {
    return [&script = script_, config = config_, workers = rx_queues()] { return script.open(config, workers); };
  }

 private:
  DeviceScript& script_;
  const control::PortConfig config_;
  PortInfo info_;
  std::vector<std::unique_ptr<ScriptedRx>> rx_;
  std::vector<std::unique_ptr<ScriptedTx>> tx_;
};

/// Returns the name of the script of the port's device: "a" for net_null_a.
std::string device_of(const control::PortConfig& config) {
  return std::get<control::Ethdev>(config.device).devargs.substr(std::string_view("net_null_").size());
}

}  // namespace

std::unique_ptr<io::Port> DeviceScript::open(const control::PortConfig& config, std::uint16_t workers) {
  const bool busy = alive.exchange(1) != 0;
  if (busy || !opens || config.info.mtu == refused_mtu) {
    if (!busy) alive = 0;
    ++refused;
    throw InputError(config.location, fmt::format("port '{}': {}", config.info.name, busy ? "busy" : "refused"));
  }
  lost = false;
  ++opened;
  return std::make_unique<ScriptedPort>(*this, config, workers);
}

std::string ChangingRouter::line(const std::string& name, const std::string& keys) {
  return fmt::format("  - {{name: {0}, device: net_null_{0}, {1}}}\n", name, keys);
}

std::string ChangingRouter::line_of_device(const std::string& device, const std::string& name) {
  return fmt::format("  - {{name: {}, device: net_null_{}, mtu: 1500}}\n", name, device);
}

std::string ChangingRouter::ports_a_b() {
  return line("a") + line("b");
}

ChangingRouter::ChangingRouter(const std::string& ports, std::uint16_t workers, std::string first_stage)
    : first_stage_(std::move(first_stage)), workers_(workers) {
  for (const char* name : kNames) scripts_[name];
  packet_memory();
  router_ = std::make_unique<Router>(config(ports),
                                     [this](std::span<const control::PortConfig> configs, std::uint16_t count) {
                                       std::vector<std::unique_ptr<io::Port>> opened;
                                       for (const auto& each : configs)
                                         opened.push_back(device(device_of(each)).open(each, count));
                                       return opened;
                                     });
}

ChangingRouter::~ChangingRouter() {
  if (!run_.joinable()) return;
  stop();
  run_.join();
}

control::RouterConfig ChangingRouter::config(const std::string& ports) const {
  const auto cores = test_config({}, workers_, 0, "").cores;
  auto config = control::parse_config(
      fmt::format("ports:\n{}workers: {{cores: [{}]}}\npipeline:\n{}  - test_judge: {{stage: 0, engine: test_sync}}\n"
                  "  - test_judge: {{stage: 1, engine: test_sync}}\n",
                  ports, fmt::join(cores, ", "), first_stage_),
      "test.yaml", ".");
  config.control.socket.clear();
  return config;
}

void ChangingRouter::start(bool wait) {
  const std::uint64_t before = preparations();
  run_ = std::thread([this] { router_->run({}, [](const Statistics&) {}); });
  while (preparations() == before) std::this_thread::yield();
  if (wait) wait_until([this] { return router_->statistics().received.packets > 0; }, "packets");
}

void ChangingRouter::change(const std::string& ports) {
  router_->reconfigure(config(ports), true);
}

void ChangingRouter::wait_until_sent(std::size_t port) {
  const std::uint64_t before = router_->statistics().sent_by_port[port].packets;
  wait_until([&] { return router_->statistics().sent_by_port[port].packets > before; }, "packets sent");
}

void ChangingRouter::join_and_check() {
  if (run_.joinable()) join();
  const Statistics statistics = router_->statistics();
  EXPECT_EQ(statistics.received.packets, statistics.sent.packets + statistics.dropped + statistics.punted);
  EXPECT_EQ(statistics.sent.bytes, statistics.sent.packets * sizeof(Frame));
  std::uint64_t given = 0, delivered = 0, unsent = 0;
  for (const auto& [name, script] : scripts_) {
    given += script.given;
    delivered += script.delivered;
    unsent += script.unsent;
    EXPECT_EQ(script.breaches, 0U) << name;
  }
  EXPECT_EQ(statistics.received.packets, given);
  EXPECT_EQ(statistics.sent.packets, delivered);
  EXPECT_EQ(count_of(statistics, "router", "tx_full"), unsent);
  EXPECT_EQ(count_of(statistics, "router", "undecided"), 0U);
  EXPECT_EQ(rte_mempool_in_use_count(packet_memory()), 0U);
  router_.reset();
  for (const auto& [name, script] : scripts_) EXPECT_EQ(script.alive, 0U) << name;
}

void wait_until(const std::function<bool()>& condition, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) FAIL() << "no " << what << " within a minute";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace penumbra::runtime::test
