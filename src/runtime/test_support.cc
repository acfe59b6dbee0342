// SPDX-License-Identifier: Apache-2.0
#include "runtime/test_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rte_mempool.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/permitted_cores.h"

namespace penumbra::runtime::test {

/// Generates packets, in sequence for each flow. One worker uses the queue.
class TestPort::Source final : public io::RxQueue {
 public:
  Source(const TestPortSetup& setup, std::uint32_t first_flow)
      : setup_(setup), first_flow_(first_flow), next_in_flow_(setup.flows), random_(setup.seed + first_flow) {}

  std::uint16_t receive(rte_mbuf** packets, std::uint16_t capacity) noexcept override {
    std::uint64_t count = std::min<std::uint64_t>({left(), capacity, 1 + random_() % Chunk::kCapacity});
    if (count == 0 || rte_pktmbuf_alloc_bulk(packet_memory(), packets, static_cast<unsigned>(count)) != 0) return 0;
    for (std::uint64_t i = 0; i < count; ++i) fill(packets[i]);
    (draining_ ? given_draining_ : given_) += count;
    return static_cast<std::uint16_t>(count);
  }
  void drain() noexcept override { draining_ = draining_ || left() > 0; }
  bool exhausted() const noexcept override { return left() == 0; }

  std::uint64_t given() const { return given_ + given_draining_; }
  std::uint64_t given(std::size_t stage, Order order) const { return orders_[stage][static_cast<std::size_t>(order)]; }

 private:
  std::uint64_t left() const {
    if (draining_) return setup_.held_at_drain - given_draining_;
    return setup_.endless ? ~std::uint64_t{0} : setup_.packets_per_queue - given_;
  }

  void fill(rte_mbuf* packet) {
    Frame& frame = *reinterpret_cast<Frame*>(rte_pktmbuf_append(packet, sizeof(Frame)));
    const auto flow = static_cast<std::uint32_t>(random_() % setup_.flows);
    frame = Frame{};
    frame.flow = first_flow_ + flow;
    frame.sequence = next_in_flow_[flow]++;
    for (std::size_t stage = 0; stage < kMostStages; ++stage) {
      frame.orders[stage] = setup_.orders[random_() % setup_.orders.size()];
      frame.egress[stage] = static_cast<std::uint8_t>(random_());
      ++orders_[stage][static_cast<std::size_t>(frame.orders[stage])];
    }
  }

  const TestPortSetup& setup_;
  const std::uint32_t first_flow_;
  std::vector<std::uint32_t> next_in_flow_;
  std::mt19937_64 random_;
  std::uint64_t given_ = 0;
  std::uint64_t given_draining_ = 0;
  bool draining_ = false;
  std::array<std::array<std::uint64_t, kOrders>, kMostStages> orders_{};
};

/// Records sent packets. One worker uses the queue.
class TestPort::Sink final : public io::TxQueue {
 public:
  Sink(const TestPortSetup& setup, std::uint16_t worker) : setup_(setup), random_(setup.seed + worker) {}

  std::uint16_t send(rte_mbuf** packets, std::uint16_t count) noexcept override {
    std::bernoulli_distribution refuses(setup_.refuse_probability);
    std::uint16_t taken = 0;
    while (taken < count && !refuses(random_)) {
      const Frame& frame = frame_of(packets[taken++]);
      sent_.push_back({frame.flow, frame.sequence});
    }
    rte_pktmbuf_free_bulk(packets, taken);
    return taken;
  }
  void close() noexcept override { closed_ = true; }
  io::Loss unsent() const noexcept override { return setup_.unsent; }
  io::Loss unwritten() const noexcept override { return setup_.unwritten; }

  const std::vector<Sent>& sent() const { return sent_; }
  bool closed() const { return closed_; }

 private:
  const TestPortSetup& setup_;
  std::mt19937_64 random_;
  std::vector<Sent> sent_;
  bool closed_ = false;
};

TestPort::TestPort(TestPortSetup setup, PortInfo info, std::uint16_t ports, std::uint16_t workers)
    : setup_(std::move(setup)), info_(std::move(info)) {
  info_.mac.value = 0x020000000001U + info_.index;
  for (std::uint16_t queue = 0; queue < setup_.queues; ++queue) {
    const std::uint64_t source = std::uint64_t{queue} * ports + info_.index;
    sources_.push_back(std::make_unique<Source>(setup_, static_cast<std::uint32_t>(source * setup_.flows)));
  }
  for (std::uint16_t worker = 0; worker < workers; ++worker) sinks_.push_back(std::make_unique<Sink>(setup_, worker));
}

TestPort::~TestPort() = default;

io::RxQueue& TestPort::rx_queue(std::uint16_t queue) {
  return *sources_[queue];
}
nlohmann::ordered_json TestPort::show() const {
  return {{"driver", "test"}};
}
io::TxQueue& TestPort::tx_queue(std::uint16_t worker) {
  return *sinks_[worker];
}

std::uint64_t TestPort::given() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_) sum += source->given();
  return sum;
}

std::uint64_t TestPort::given(std::size_t stage, Order order) const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_) sum += source->given(stage, order);
  return sum;
}

const std::vector<Sent>& TestPort::sent(std::uint16_t worker) const {
  return sinks_[worker]->sent();
}

std::uint64_t TestPort::taken() const {
  std::uint64_t sum = 0;
  for (const auto& sink : sinks_) sum += sink->sent().size();
  return sum;
}

bool TestPort::closed() const {
  return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->closed(); });
}

control::RouterConfig test_config(const std::vector<std::string>& ports, std::uint16_t workers, std::size_t stages,
                                  const std::string& engine) {
  control::RouterConfig config;
  for (const auto& name : ports) {
    control::PortConfig port;
    port.info.name = name;
    port.info.index = static_cast<std::uint16_t>(config.ports.size());
    port.device = control::NoSource{};
    config.ports.push_back(std::move(port));
  }
  const auto cores = permitted_cores();
  for (std::uint16_t i = 0; i < workers; ++i) config.cores.push_back(cores[i % cores.size()]);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    config.pipeline.push_back(
        {"test_judge", engine, ConfigNode::parse(fmt::format("stage: {}", stage), "test.yaml", ".")});
  }
  return config;
}

TestBed::TestBed(std::vector<TestPortSetup> ports, std::uint16_t workers, std::size_t stages, const std::string& engine)
    : TestBed(std::move(ports), workers, test_config({}, 0, stages, engine).pipeline) {}

TestBed::TestBed(std::vector<TestPortSetup> ports, std::uint16_t workers, std::vector<control::StageConfig> pipeline)
    : setups_(std::move(ports)) {
  std::vector<std::string> names;
  names.reserve(setups_.size());
  for (const auto& setup : setups_) names.push_back(setup.name);
  config_ = test_config(names, workers, 0, "");
  config_.pipeline = std::move(pipeline);
  packet_memory();
  router_ =
      std::make_unique<Router>(config_, [this](std::span<const control::PortConfig> configs, std::uint16_t count) {
        std::vector<std::unique_ptr<io::Port>> opened;
        for (std::size_t i = 0; i < configs.size(); ++i) {
          auto port = std::make_unique<TestPort>(setups_[i], configs[i].info,
                                                 static_cast<std::uint16_t>(configs.size()), count);
          ports_.push_back(port.get());
          opened.push_back(std::move(port));
        }
        return opened;
      });
}

TestBed::~TestBed() = default;

Statistics TestBed::run_and_check(const RunLimits& limits) {
  const Statistics statistics = run_and_check_counts(limits);
  check_order();
  return statistics;
}

Statistics TestBed::run_and_check_counts(const RunLimits& limits) {
  router_->run(limits, [](const Statistics& now) {
    if (now.sent.packets == 0) return;  // A TestPort reports its future losses from the beginning.
    EXPECT_GE(now.entered(), now.accounted_for());
  });
  const Statistics statistics = router_->statistics();
  check(statistics);
  return statistics;
}

void TestBed::check(const Statistics& statistics) {
  EXPECT_EQ(statistics.entered(), statistics.accounted_for());
  EXPECT_EQ(statistics.held, 0U);
  std::uint64_t received = 0, sent = 0;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const TestPort& port = *ports_[i];
    const TestPortSetup& setup = setups_[i];
    const std::uint64_t in = port.given() + setup.ring_loss.packets;
    const std::uint64_t out = port.taken() - (setup.unsent.packets + setup.unwritten.packets) * config_.cores.size();
    EXPECT_EQ(statistics.received_by_port[i].packets, in);
    EXPECT_EQ(statistics.received_by_port[i].bytes, port.given() * sizeof(Frame) + setup.ring_loss.bytes);
    EXPECT_EQ(statistics.sent_by_port[i].packets, out);
    EXPECT_EQ(statistics.sent_by_port[i].bytes,
              port.taken() * sizeof(Frame) - (setup.unsent.bytes + setup.unwritten.bytes) * config_.cores.size());
    received += in;
    sent += out;
    EXPECT_FALSE(port.started());
    EXPECT_TRUE(port.closed());
  }
  EXPECT_EQ(statistics.received.packets, received);
  EXPECT_EQ(statistics.sent.packets, sent);
  for (const auto& reason : statistics.reasons) {
    if (reason.reason == "wrong_answer") {
      EXPECT_EQ(reason.packets, 0U);
    }
  }
  EXPECT_EQ(rte_mempool_in_use_count(packet_memory()), 0U);
}

/// A flow comes from one queue and so has one worker; its packets leave each port in sequence.
void TestBed::check_order() {
  for (const TestPort* port : ports_) {
    std::map<std::uint32_t, std::uint16_t> worker_of_flow;
    const auto workers = static_cast<std::uint16_t>(config_.cores.size());
    for (std::uint16_t worker = 0; worker < workers; ++worker) {
      std::map<std::uint32_t, std::uint32_t> last;
      for (const auto& [flow, sequence] : port->sent(worker)) {
        const auto [at, is_new] = last.try_emplace(flow, sequence);
        ASSERT_TRUE(is_new || sequence > at->second) << "flow " << flow << ": " << sequence << " after " << at->second;
        at->second = sequence;
        ASSERT_EQ(worker_of_flow.try_emplace(flow, worker).first->second, worker);
      }
    }
  }
}

std::uint64_t count_of(const Statistics& statistics, const std::string& stage, const std::string& reason) {
  for (const auto& count : statistics.reasons) {
    if (count.stage == stage && count.reason == reason) return count.packets;
  }
  ADD_FAILURE() << "there is no reason " << stage << "." << reason;
  return 0;
}

}  // namespace penumbra::runtime::test
