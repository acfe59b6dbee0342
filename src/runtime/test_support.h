// SPDX-License-Identifier: Apache-2.0
//
// Provides ports, a function and engines with exactly known behaviour for the runtime's tests. Packets carry the
// verdicts that they shall get, so every test knows the result.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "control/config.h"
#include "io/port.h"
#include "penumbra/function.h"
#include "runtime/router.h"
#include "testing/pool_packets.h"

namespace penumbra::runtime::test {

/// Tells the function `test_judge` the fate of a packet. `late` orders go through the shader first. `replicate` sends
/// by every port except the packet's own. `replicate_other` sends by ports of even index unchanged and by the others in
/// a header variant. `replicate_nowhere` names no port. `replicate_some` sends by ports of even index and drops two
/// copies as `late_dropped`.
enum class Order : std::uint8_t {
  pass,
  late_pass,
  send,
  late_send,
  drop,
  late_drop,
  late_punt,
  misdirect,
  replicate,
  replicate_other,
  replicate_nowhere,
  replicate_some
};
inline constexpr std::uint8_t kOrders = 12;

/// Lists the reasons of test_judge.
enum JudgeReason : std::uint16_t { kDropped, kLateDropped, kLatePunted, kWrongAnswer };

inline constexpr std::size_t kMostStages = 4;

/// A reload changes test_judge's `revision`. The first value needs a restart, the second fails to be applied.
inline constexpr std::uint64_t kTakesRestart = 666, kDoesNotFit = 777, kMostRevision = 1000;

/// The second test_judge of a pipeline refuses ports with this MTU.
inline constexpr std::uint16_t kRefusedMtu = 1234;

/// A test packet's frame.
struct [[gnu::packed]] Frame {
  std::array<std::uint8_t, 12> macs{};
  std::array<std::uint8_t, 2> ethertype{0x88, 0xB5};  // Local experimental.
  std::uint32_t flow = 0;
  std::uint32_t sequence = 0;  ///< Within the flow, from 0.
  std::array<Order, kMostStages> orders{};
  std::array<std::uint8_t, kMostStages> egress{};
  std::array<std::uint8_t, 30> padding{};
};

inline const Frame& frame_of(const rte_mbuf* packet) {
  return *rte_pktmbuf_mtod(packet, const Frame*);
}

using function_testing::packet_memory;

/// The fate of a packet in the function `test_holder`. `emit` passes the packet and a copy of it. `join` makes one
/// packet of two. `go_round` sends the packet to the same stage again. `shade_twice` runs two jobs.
enum class HolderRole : std::uint8_t { pass, hold, emit, go_on, go_round, join, shade_twice };
inline constexpr std::uint8_t kHolderRoles = 7;

/// Defines the behaviour of a TestPort.
struct TestPortSetup {
  std::string name;
  std::uint16_t queues = 1;
  std::uint64_t packets_per_queue = 0;  ///< The queue is exhausted after them.
  bool endless = false;                 ///< Never exhausted by itself.
  std::uint64_t held_at_drain = 0;      ///< Packets that still arrive after drain().
  /// Probability that a transmit queue refuses a packet, and with it the rest of the burst.
  double refuse_probability = 0;
  std::uint64_t flows = 16;                     ///< For each queue.
  std::vector<Order> orders{Order::late_send};  ///< Orders to draw from, for each stage.
  std::uint64_t seed = 1;
  std::uint64_t missed = 0;  ///< Losses that the device reports.
  io::Loss ring_loss{};      ///< Losses that the port reports.
  io::Loss unsent{};         ///< Packets that unsent() of each transmit queue reports.
  io::Loss unwritten{};      ///< Packets that unwritten() of each transmit queue reports.
  // NOLINTNEXTLINE(readability-redundant-member-init): needed by initializers that omit it
  std::function<void()> at_start = {};
};

struct Sent {
  std::uint32_t flow = 0;
  std::uint32_t sequence = 0;
};

/// Generates packets and records sent ones.
class TestPort final : public io::Port {
 public:
  TestPort(TestPortSetup setup, PortInfo info, std::uint16_t ports, std::uint16_t workers);
  ~TestPort() override;

  const PortInfo& info() const override { return info_; }
  std::uint16_t rx_queues() const override { return setup_.queues; }
  io::RxQueue& rx_queue(std::uint16_t queue) override;
  io::TxQueue& tx_queue(std::uint16_t worker) override;
  void start() override {
    if (setup_.at_start) setup_.at_start();
    started_ = true;
  }
  void stop() noexcept override { started_ = false; }
  io::Loss ring_loss() const noexcept override { return setup_.ring_loss; }
  std::vector<io::DeviceLoss> device_losses() const override { return {{"missed", setup_.missed}}; }
  bool link_up() const noexcept override { return link_up_.load(); }
  nlohmann::ordered_json show() const override;

  /// Sets the link state, which is initially up. Any thread may call it.
  void set_link(bool up) { link_up_.store(up); }

  // The following functions may be called after a run or by the worker itself.
  std::uint64_t given() const;                                ///< Packets of all receive queues.
  std::uint64_t given(std::size_t stage, Order order) const;  ///< Packets with this order.
  const std::vector<Sent>& sent(std::uint16_t worker) const;  ///< Packets of that worker's queue, in order.
  std::uint64_t taken() const;                                ///< Packets of all transmit queues.
  bool started() const { return started_; }
  bool closed() const;  ///< True if every transmit queue is closed.

 private:
  class Source;
  class Sink;
  TestPortSetup setup_;
  PortInfo info_;
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  bool started_ = false;
  std::atomic<bool> link_up_{true};
};

/// Runs a router over TestPorts with `stages` stages of test_judge on `engine`.
class TestBed {
 public:
  TestBed(std::vector<TestPortSetup> ports, std::uint16_t workers, std::size_t stages, const std::string& engine);
  /// Runs a router with another pipeline.
  TestBed(std::vector<TestPortSetup> ports, std::uint16_t workers, std::vector<control::StageConfig> pipeline);
  ~TestBed();

  Router& router() { return *router_; }
  TestPort& port(std::size_t index) { return *ports_[index]; }
  std::size_t ports() const { return ports_.size(); }
  const control::RouterConfig& config() const { return config_; }
  /// Runs the router and checks the invariants of every run: conservation, the ports' own counts, order of flows,
  /// packet memory and results of the shader.
  Statistics run_and_check(const RunLimits& limits);
  /// As run_and_check(), but flows may have lost their order.
  Statistics run_and_check_counts(const RunLimits& limits);

 private:
  void check(const Statistics& statistics);
  void check_order();

  std::vector<TestPortSetup> setups_;
  control::RouterConfig config_;
  std::vector<TestPort*> ports_;
  std::unique_ptr<Router> router_;
};

/// Returns a configuration with `stages` stages of test_judge on `engine`, the named ports, and `workers` workers on
/// the available cores.
control::RouterConfig test_config(const std::vector<std::string>& ports, std::uint16_t workers, std::size_t stages,
                                  const std::string& engine);

/// Returns the ports whose link loss was reported to a test_judge since the last call, in order. Any thread may call
/// it.
std::vector<std::uint16_t> links_lost();

/// Returns the router's grace periods, from the last test_judge.
GracePeriods& grace_periods();
/// Returns the number of chunks for which a test_judge was asked to fetch ahead.
std::uint64_t chunks_fetched_ahead();
/// Returns how often workers have prepared any test_judge.
std::uint64_t preparations();
/// Returns the number of chunks that a test_judge got from workers that had not prepared it.
std::uint64_t chunks_of_unprepared_workers();

/// Returns a count by stage and reason. Fails the test if there is no such reason.
std::uint64_t count_of(const Statistics& statistics, const std::string& stage, const std::string& reason);

/// Names of the test engines. test_sync is synchronous. test_async delays batches, finishes them in any order, returns
/// them in order, and is sometimes full or synchronous. test_hoarder always has one batch in flight while chunks keep
/// arriving. test_stuck is synchronous, but hangs once on request. test_watch is synchronous, fetches ahead every other
/// time, and counts. test_without has no shader. test_absent is unavailable.
inline constexpr const char* kSync = "test_sync";
inline constexpr const char* kAsync = "test_async";
inline constexpr const char* kHoarder = "test_hoarder";
inline constexpr const char* kStuck = "test_stuck";
inline constexpr const char* kWatch = "test_watch";
inline constexpr const char* kWithout = "test_without";
inline constexpr const char* kAbsent = "test_absent";
/// Returns the number of batches that a test_async queue finished after a younger batch, as evidence of reordering.
std::uint64_t batches_reordered();
/// Returns the number of times that a test_async queue was full.
std::uint64_t times_full();
/// Counts of all test_watch queues: batches of a chunk's capacity and smaller ones, those with an rx backlog, and how
/// often the queues fetched ahead.
struct Watched {
  std::uint64_t whole = 0, whole_with_backlog = 0, smaller = 0, smaller_with_backlog = 0, ahead = 0;
};
Watched watched();
/// Makes the next worker that uses a test_stuck queue hang. Returns when it hangs.
void let_one_worker_hang();
/// Resumes the hanging worker.
void let_it_go_on();

}  // namespace penumbra::runtime::test
