// SPDX-License-Identifier: Apache-2.0
//
// For the runtime's tests: ports, a function and engines whose behaviour is known exactly. Packets carry what shall
// become of them, so every test knows what to expect.
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

namespace penumbra::runtime::test {

/// What the function `test_judge` does with a packet. `late` ones go through the shader first.
/// `replicate` leaves by every port but its own, `replicate_other` by those of even index as it is and by the others in
/// a likeness, `replicate_nowhere` by none; `replicate_some` by those of even index, and two copies are dropped as
/// `late_dropped`.
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

/// test_judge's reasons.
enum JudgeReason : std::uint16_t { kDropped, kLateDropped, kLatePunted, kWrongAnswer };

inline constexpr std::size_t kMostStages = 4;

/// Values of test_judge's `revision`, which a reload changes: to the first of these it says that it takes a restart,
/// the second it fails to take over.
inline constexpr std::uint64_t kTakesRestart = 666, kDoesNotFit = 777, kMostRevision = 1000;

/// An MTU with which the second test_judge of a pipeline has no port.
inline constexpr std::uint16_t kRefusedMtu = 1234;

/// A test packet's frame.
struct [[gnu::packed]] Frame {
  std::array<std::uint8_t, 12> macs{};
  std::array<std::uint8_t, 2> ethertype{0x88, 0xB5};  // for local experiments
  std::uint32_t flow = 0;
  std::uint32_t sequence = 0;  ///< within the flow, from 0
  std::array<Order, kMostStages> orders{};
  std::array<std::uint8_t, kMostStages> egress{};
  std::array<std::uint8_t, 30> padding{};
};

inline const Frame& frame_of(const rte_mbuf* packet) {
  return *rte_pktmbuf_mtod(packet, const Frame*);
}

/// The test's packet memory, shared by all tests of a program. Starts the EAL.
rte_mempool* packet_memory();

/// How a TestPort behaves.
struct TestPortSetup {
  std::string name;
  std::uint16_t queues = 1;
  std::uint64_t packets_per_queue = 0;          ///< then it is exhausted
  bool endless = false;                         ///< never exhausted by itself
  std::uint64_t held_at_drain = 0;              ///< what still comes after drain()
  double refuse_probability = 0;                ///< of each packet that it is given, and then of the rest of that burst
  std::uint64_t flows = 16;                     ///< of each queue
  std::vector<Order> orders{Order::late_send};  ///< which are drawn, per stage
  std::uint64_t seed = 1;
  std::uint64_t missed = 0;  ///< what its device says
  io::Loss ring_loss{};      ///< what it says
  io::Loss unsent{};         ///< what each of its transmit queues says
  io::Loss unwritten{};      ///< likewise
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::function<void()> at_start = {};
};

struct Sent {
  std::uint32_t flow = 0;
  std::uint32_t sequence = 0;
};

/// A port that makes packets and writes down what it is given.
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

  /// Any thread. Up at first.
  void set_link(bool up) { link_up_.store(up); }

  // After a run, or from the worker itself:
  std::uint64_t given() const;                                ///< packets, all receive queues
  std::uint64_t given(std::size_t stage, Order order) const;  ///< of those that carry this order
  const std::vector<Sent>& sent(std::uint16_t worker) const;  ///< through that worker's queue, in order
  std::uint64_t taken() const;                                ///< all transmit queues
  bool started() const { return started_; }
  bool closed() const;  ///< every transmit queue

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

/// A router over TestPorts with `stages` times test_judge on `engine`.
class TestBed {
 public:
  TestBed(std::vector<TestPortSetup> ports, std::uint16_t workers, std::size_t stages, std::string engine);
  ~TestBed();

  Router& router() { return *router_; }
  TestPort& port(std::size_t index) { return *ports_[index]; }
  std::size_t ports() const { return ports_.size(); }
  const control::RouterConfig& config() const { return config_; }
  /// Runs and then checks what must hold of every run: conservation, what the ports themselves saw, order of flows,
  /// packet memory, answers of the shader.
  Statistics run_and_check(const RunLimits& limits);

 private:
  void check(const Statistics& statistics);
  void check_order();

  std::vector<TestPortSetup> setups_;
  control::RouterConfig config_;
  std::vector<TestPort*> ports_;
  std::unique_ptr<Router> router_;
};

/// A configuration with `stages` times test_judge on `engine`, ports as named, `workers` workers on the cores there
/// are.
control::RouterConfig test_config(const std::vector<std::string>& ports, std::uint16_t workers, std::size_t stages,
                                  const std::string& engine);

/// The ports whose loss of a link a test_judge was told of since this was last asked, in that order. Any thread.
std::vector<std::uint16_t> links_lost();

/// What the last test_judge was given: the router's.
GracePeriods& grace_periods();
/// The chunks for which any test_judge was to fetch ahead.
std::uint64_t chunks_fetched_ahead();
/// How often workers have prepared any test_judge.
std::uint64_t preparations();
/// The chunks that any test_judge got of a worker that had not prepared.
std::uint64_t chunks_of_unprepared_workers();

/// A count by stage and reason. Fails the test if there is none of that name.
std::uint64_t count_of(const Statistics& statistics, const std::string& stage, const std::string& reason);

/// The engines: test_sync answers at once; test_async takes its time, finishes batches in any order, hands them back in
/// theirs, is sometimes full and sometimes answers at once; test_hoarder has always one in flight while chunks keep
/// coming; test_stuck answers at once, but hangs once if told; test_watch answers at once, fetches ahead every other
/// time, and counts; test_without knows no shader; test_absent is what this machine lacks.
inline constexpr const char* kSync = "test_sync";
inline constexpr const char* kAsync = "test_async";
inline constexpr const char* kHoarder = "test_hoarder";
inline constexpr const char* kStuck = "test_stuck";
inline constexpr const char* kWatch = "test_watch";
inline constexpr const char* kWithout = "test_without";
inline constexpr const char* kAbsent = "test_absent";
/// The batches that any test_async queue had finished later than a younger one: proof that it reorders.
std::uint64_t batches_reordered();
/// How often any test_async queue said full.
std::uint64_t times_full();
/// Of all test_watch queues: batches of a chunk's capacity and smaller ones, how many of either were pressed, and how
/// often they said that they fetch ahead.
struct Watched {
  std::uint64_t whole = 0, whole_pressed = 0, smaller = 0, smaller_pressed = 0, ahead = 0;
};
Watched watched();
/// Lets the next worker that asks a test_stuck queue hang in it; returns once it does.
void let_one_worker_hang();
/// Lets it go on.
void let_it_go_on();

}  // namespace penumbra::runtime::test
