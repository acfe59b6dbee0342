// SPDX-License-Identifier: Apache-2.0
//
// Measures forwarding while routes change. A router with one worker runs on one core; on another core a thread makes
// 100,000 route changes a second.
//
//   - In the first part every packet is checked as it is sent. MAC address and port of a packet must belong to a next
//     hop that its destination had at some time (churn_truth.h). No packet may be dropped, punted or lost. If there is
//     a GPU, this part is repeated with each engine on it.
//   - In the second part a counting sink receives short slices, with and without changes in turn, so that disturbances
//     affect both. The figures show how much throughput the changes cost. The default of 7 rounds has over 10 s of
//     changes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <exception>
#include <memory>
#include <random>
#include <thread>

#include "bench.h"
#include "checking_port.h"
#include "churn_truth.h"
#include "frame_fields.h"
#include "functions/ipv4/ipv4.h"
#include "network.h"
#include "on_engine.h"
#include "pin.h"
#include "runtime/router.h"
#include "temporary.h"

namespace penumbra::bench {
namespace {

const std::vector<std::string> kFourPorts{"port0", "port1", "port2", "port3"};
constexpr char kChoosing[] = "auto";
constexpr double kWantedChangesPerSecond = 100'000;
constexpr double kTick = 1e-3;  // Seconds.
constexpr std::size_t kChangesPerTick =
    105;  // Changes per commit; a little more than wanted, to compensate for delays.
constexpr double kCheckedSeconds = 10, kCheckedOnGpuSeconds = 3;
constexpr unsigned kSlicePairsPerRound = 3;
constexpr double kSliceSeconds = 0.5;

/// Returns the MAC address of next hop number `hop`.
constexpr MacAddress mac_of_hop(std::size_t hop) {
  return {0x024E00000000 | hop};
}

/// A forwarding_table() whose next hops have distinct MAC addresses.
struct Network {
  control::GeneratedTable table;
  std::vector<control::RouteTarget> hops;  ///< Hop h as a target; its MAC address is mac_of_hop(h).
  std::vector<std::uint16_t> port_of_hop;

  explicit Network(std::uint64_t seed) : table(forwarding_table(kFourPorts, seed)) {
    for (std::size_t hop = 0; hop < table.neighbours.size(); ++hop) {
      auto& neighbour = table.neighbours[hop];
      neighbour.mac = mac_of_hop(hop);
      hops.push_back(
          {.kind = control::RouteTarget::Kind::unicast, .next_hops = {{neighbour.address, neighbour.port, 1}}});
      const auto port = std::find(kFourPorts.begin(), kFourPorts.end(), neighbour.port) - kFourPorts.begin();
      port_of_hop.push_back(static_cast<std::uint16_t>(port));
    }
  }

  std::vector<KnownRoute> routes() const {
    std::vector<KnownRoute> result;
    for (const control::Route& route : table.routes.routes) {
      const auto hop = std::find(hops.begin(), hops.end(), table.routes.targets[route.target]) - hops.begin();
      result.push_back({route.prefix, static_cast<std::uint16_t>(hop)});
    }
    return result;
  }

  /// Writes routes.txt, neighbours.txt and router.yaml.
  void write(const std::filesystem::path& folder, unsigned core, std::uint64_t seed) const {
    write_table(table, folder);
    std::string config =
        fmt::format("ports:\n  - {{name: port0, device: \"synth:size=60,dst=prefixes:routes.txt,seed={}\"}}\n", seed);
    for (std::size_t port = 1; port < kFourPorts.size(); ++port) {
      config += fmt::format("  - {{name: {}, device: none}}\n", kFourPorts[port]);
    }
    config += fmt::format(
        "workers: {{cores: [{}]}}\npipeline:\n  - ipv4: {{routes: routes.txt, neighbours: neighbours.txt}}\n", core);
    write_file(folder / "router.yaml", config);
  }
};

/// Makes the planned changes at a constant rate.
class Churner {
 public:
  Churner(ipv4::Ipv4Fib& fib, const Network& network, std::vector<PlannedChange> plan, std::uint64_t seed)
      : fib_(fib), network_(network), plan_(std::move(plan)), second_(plan_.size()), random_(seed) {}

  /// Runs for `seconds` seconds. Changes that are late, for lack of a core, are made at once.
  void run(double seconds) {
    const double begin = now();
    const auto ticks = static_cast<std::size_t>(std::lround(seconds / kTick));
    for (std::size_t tick = 0; tick < ticks; ++tick) {
      wait_until(begin + static_cast<double>(tick) * kTick);
      for (std::size_t i = 0; i < kChangesPerTick; ++i) change(random_() % plan_.size());
      fib_.commit();
    }
    wait_until(begin + seconds);
    seconds_ += now() - begin;
  }
  std::uint64_t changes() const { return changes_; }
  /// Returns the duration of all runs together.
  double seconds() const { return seconds_; }
  double changes_per_second() const { return static_cast<double>(changes_) / seconds_; }

 private:
  static void wait_until(double moment) {
    while (now() < moment) {
    }
  }

  /// Changes the prefix from its first state to the second, or back.
  void change(std::size_t index) {
    const PlannedChange& planned = plan_[index];
    second_[index] = !second_[index];
    const auto& hop = second_[index] ? planned.second : planned.first;
    if (hop) {
      fib_.replace_route(planned.prefix, 0, network_.hops[*hop]);
    } else {
      fib_.remove_route(planned.prefix, 0);
    }
    ++changes_;
  }

  ipv4::Ipv4Fib& fib_;
  const Network& network_;
  std::vector<PlannedChange> plan_;
  std::vector<bool> second_;
  std::mt19937_64 random_;
  std::uint64_t changes_ = 0;
  double seconds_ = 0;
};

/// Returns the CPU seconds of the worker, whose thread the runtime names `worker-0`.
double worker_time() {
  return thread_times(getpid()).at("worker-0");
}

/// Waits until packets flow. Throws std::runtime_error if none do.
void await_traffic(const runtime::Router& router) {
  constexpr double kPatience = 20;
  for (const double begin = now(); router.statistics().received.packets == 0;) {
    if (now() > begin + kPatience) throw std::runtime_error("the router receives nothing");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Runs the router on its worker's core. Once packets flow, runs `drive` on another thread, and stops when it returns.
runtime::Statistics run_beside(runtime::Router& router, const std::function<void()>& drive) {
  std::exception_ptr failure;
  std::thread driver([&] {
    try {
      pin_to_last_core();
      await_traffic(router);
      drive();
    } catch (...) {
      failure = std::current_exception();
    }
    router.stop();
  });
  router.run({}, [](const runtime::Statistics&) {});
  driver.join();
  if (failure) std::rethrow_exception(failure);
  return router.statistics();
}

/// Throws WrongAnswer unless every packet received was sent.
void require_no_loss(const runtime::Statistics& statistics) {
  if (statistics.received.packets == statistics.sent.packets && statistics.dropped == 0 && statistics.punted == 0)
    return;
  std::string text = fmt::format("received {} sent {}", statistics.received.packets, statistics.sent.packets);
  for (const auto& reason : statistics.reasons) {
    if (reason.packets != 0) text += fmt::format(", {}.{} {}", reason.stage, reason.reason, reason.packets);
  }
  throw WrongAnswer("packets were lost: " + text);
}

/// True if the note of an engine says that its GPU answered batches.
bool tells_of_a_batch_on_gpu(const std::string& note) {
  return note.find(" batches in ") != std::string::npos || note.find(" batches by the kernel") != std::string::npos;
}

ipv4::Ipv4Fib& fib_of(runtime::Router& router) {
  return dynamic_cast<ipv4::Ipv4Function&>(router.function(0)).fib();
}

/// Throws std::runtime_error if an engine had a device failure, or if the GPU of engine `name` has not looked up
/// anything. The CPU answered in its place then, so the run shows nothing about the GPU. For `auto`, the members' notes
/// count.
void require_gpus(const runtime::Router& router, const std::string& name) {
  bool has_looked_up = false;
  for (const auto& engine : router.show("engines", {})) {
    for (const auto& each : engine.at("notes")) {
      const auto note = each.get<std::string>();
      require_gpu(engine.at("engine").get<std::string>(), note);
      has_looked_up = has_looked_up || (engine.at("engine") == name && tells_of_a_batch_on_gpu(note));
    }
  }
  if (name != kChoosing && !has_looked_up) throw std::runtime_error(name + ": the GPU has looked nothing up");
}

/// Returns the number of changes per second.
double run_checked(control::RouterConfig config, const std::string& engine, double seconds, const Network& network,
                   const ChurnTruth& truth, std::uint64_t seed, Report& report) {
  std::atomic<std::uint64_t> ambiguous{0};
  CheckedPackets packets([&](std::uint16_t port, std::span<const std::uint8_t> frame) {
    const std::uint32_t allowed = truth.allowed(ipv4_destination(frame));
    if (!std::has_single_bit(allowed)) ambiguous.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t hop = destination_mac(frame).value - mac_of_hop(0).value;
    return hop < network.port_of_hop.size() && network.port_of_hop[hop] == port && (allowed >> hop & 1) != 0;
  });
  config.pipeline.front().engine = engine;
  runtime::Router router(config, [&packets](std::span<const control::PortConfig> configs, std::uint16_t workers) {
    return open_checking_ports(configs, workers, packets);
  });
  Churner churner(fib_of(router), network, truth.plan(), seed);
  const runtime::Statistics statistics = run_beside(router, [&] { churner.run(seconds); });
  require_no_loss(statistics);
  if (packets.checked() != statistics.sent.packets) throw WrongAnswer("not every packet was checked");
  if (const auto wrong = packets.wrong_in_words()) throw WrongAnswer("to a next hop that was never right: " + *wrong);
  require_gpus(router, engine);
  report.checked(
      fmt::format("{}: {} packets, each as it was sent, while {} changes were made in {:.2f} s: none lost, none to a "
                  "next hop that was never right, {} of them to destinations that change",
                  engine, packets.checked(), churner.changes(), churner.seconds(), ambiguous.load()));
  return churner.changes_per_second();
}

void run_measured(const control::RouterConfig& config, const Network& network, const ChurnTruth& truth,
                  const Options& options, Report& report) {
  runtime::Router router(config);
  Churner churner(fib_of(router), network, truth.plan(), options.seed);
  const unsigned pairs = options.rounds * kSlicePairsPerRound;
  const auto slice = [&router](const auto& body) {
    const std::uint64_t before = router.statistics().received.packets;
    const double begin = worker_time();
    body();
    return static_cast<double>(router.statistics().received.packets - before) / (worker_time() - begin) * 1e-6;
  };
  std::vector<Series> series;
  const auto drive = [&] {
    series = interleave(
        {{"no changes",
          [&] { return slice([] { std::this_thread::sleep_for(std::chrono::duration<double>(kSliceSeconds)); }); },
          Role::limit},
         {"changes", [&] { return slice([&churner] { churner.run(kSliceSeconds); }); }}},
        pairs);
  };
  require_no_loss(run_beside(router, drive));
  report.checked(fmt::format("another run, with a counting sink: no packet lost while {} changes were made in {:.2f} s",
                             churner.changes(), churner.seconds()));
  report.bar("changes/s while throughput is measured", churner.changes_per_second(), kWantedChangesPerSecond, true);
  const std::vector<double> ratios = report.compare(
      fmt::format("forwarding in that run, {} pairs of slices of {} s, without and with changes by turns", pairs,
                  kSliceSeconds),
      "M packets per second that the worker had its core", series, "no changes");
  report.bar("throughput lost to the changes, %, median over the pairs", (1 - ratios[1]) * 100, 5, false);
}

void run_churn(const Options& options, Report& report) {
  const unsigned core = first_core();
  if (core == last_core()) report.note("only one core: the changes take their time from the worker");
  const Network network(options.seed);
  const ChurnTruth truth(network.routes(), static_cast<std::uint16_t>(network.hops.size()), options.seed);
  report.input("table", fmt::format("{} prefixes, generated, {} next hops, seed {}", network.table.routes.routes.size(),
                                    network.hops.size(), options.seed));
  report.input("changes", truth.description());
  report.input("traffic", "60-byte frames (64 with FCS), destinations uniform over the prefixes");
  const TemporaryFolder folder;
  network.write(folder.path(), core, options.seed);
  control::RouterConfig config = control::load_config(folder.path() / "router.yaml");
  config.control.socket.clear();
  report.bar("changes/s while every packet is checked",
             run_checked(config, kChoosing, kCheckedSeconds, network, truth, options.seed, report),
             kWantedChangesPerSecond, true);
  for (const EngineInfo* engine : engines_here()) {
    if (engine->is_synchronous || engine->name == kChoosing) continue;
    // Checks correctness only: the thread that makes the changes is the same, so speed is no new result.
    run_checked(config, engine->name, kCheckedOnGpuSeconds, network, truth, options.seed, report);
  }
  run_measured(config, network, truth, options, report);
}

[[maybe_unused]] const bool kChurnBenchmark =
    register_benchmark({.name = "churn",
                        .measures = "forwarding while 100,000 routes a second change: correctness and throughput lost",
                        .needs = "two cores",
                        .cost = {.once = 13, .a_round = 4, .once_on_gpu = 7},
                        .run = &run_churn});

}  // namespace
}  // namespace penumbra::bench
