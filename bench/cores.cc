// SPDX-License-Identifier: Apache-2.0
//
// Measures whole routers from a source in memory to counting sinks, by function, engine and number of workers. The
// sources are figure 10 of G-Opt, and figures 5 and 6 of the integrated GPUs' paper.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apart.h"
#include "bench.h"
#include "checking_port.h"
#include "gpu/core_team.h"
#include "network.h"
#include "penumbra/engine.h"
#include "pin.h"
#include "process.h"
#include "router_systems.h"
#include "runtime/router.h"
#include "temporary.h"

namespace penumbra::bench {
namespace {

constexpr const char* kRunFor = "300ms";
constexpr std::chrono::milliseconds kCheckedFor{100};
constexpr double kCheckPatience = 120;        ///< Seconds, including the time to load the tables.
constexpr char kPlain[] = "scalar,avx512=0";  ///< The papers' baseline, where `scalar` has a hand-written form.

/// Returns the engine choice for `queues` queues. The blocks of cuda-resident are divided among the queues, with at
/// most the default number for each.
std::string choice_of(const std::string& engine, unsigned queues) {
  constexpr unsigned kBlocks = 256, kSlots = 16;  // Defaults in docs/cuda-resident.md.
  if (engine != "cuda-resident" || queues * kSlots <= kBlocks) return engine;
  return fmt::format("{},slots={}", engine, std::max(1U, kBlocks / queues));
}

class CoresBench {
 public:
  CoresBench(const Options& options, Report& report, const char* measurement)
      : options_(options), report_(report), measurement_(measurement), makers_(folder_.path(), options.seed) {}

  const RouterSystems& makers() const { return makers_; }

  void add(RouterSystem system) {
    report_.input(system.name, system.input);
    systems_.push_back(std::move(system));
  }

  void run() {
    // Checks all systems first: this process may not fork any more once engines_here() has initialized CUDA.
    for (RouterSystem& system : systems_) {
      check(system);
      system.may_leave = nullptr;  // It may own a table.
    }
    for (const RouterSystem& system : systems_) {
      for (const unsigned workers : worker_counts()) compare(system, workers);
    }
    report_.checked("every packet of every run was sent on");
  }

 private:
  /// Writes the configuration with `workers` workers and returns its file.
  std::string write_config(const RouterSystem& system, const std::string& engine, unsigned workers) const {
    const auto file = folder_.path() / fmt::format("{}-{}-{}.yaml", system.name, engine, workers);
    std::vector<unsigned> cores;
    cores.reserve(workers);
    for (unsigned i = 0; i < workers; ++i) cores.push_back(core(i));
    write_file(file, fmt::format("ports:\n{}workers: {{cores: [{}]}}\nengine: {}\npipeline:\n{}control: {{socket: "
                                 "control.sock}}\n",
                                 system.ports, fmt::join(cores, ", "), engine, system.pipeline));
    return file.string();
  }

  /// Runs the system on each available engine and checks every packet that is sent. Each run has its own process, so
  /// that nothing of it remains when routers are measured.
  void check(const RouterSystem& system) {
    const unsigned workers = worker_counts().back();
    std::vector<std::string> runs;
    const auto check_on = [&](const std::string& engine, Availability (*probe)()) {
      const std::string config = write_config(system, choice_of(engine, workers * system.functions), workers);
      const std::string who = fmt::format("{} on {}", system.name, engine);
      const auto work = [&] {
        return probe().available ? run_checked(config, system.may_leave) : nlohmann::json::object();
      };
      const nlohmann::json found = run_apart(who, kCheckPatience, work, [] {});
      if (found.contains("error")) throw std::runtime_error(who + ": " + found["error"].get<std::string>());
      if (found.contains("wrong")) throw WrongAnswer(who + ": " + found["wrong"].get<std::string>());
      if (!found.empty()) runs.push_back(fmt::format("{} on {}", found["packets"].get<std::uint64_t>(), engine));
    };
    for (const EngineInfo& engine : engines()) check_on(engine.name, engine.probe);
    if (system.has_avx512) check_on(kPlain, [] { return Availability{true, "any CPU"}; });
    report_.checked(
        fmt::format("{}: packets of a run by {}, each sent by a port and to a MAC address that are right: {}",
                    system.name, workers_in_words(workers), fmt::join(runs, ", ")));
  }
  static nlohmann::json run_checked(const std::string& config, const MayLeave& may_leave) {
    control::RouterConfig loaded = control::load_config(config);
    loaded.control.socket.clear();
    CheckedPackets packets(may_leave);
    runtime::Router router(loaded, [&packets](std::span<const control::PortConfig> configs, std::uint16_t workers) {
      return open_checking_ports(configs, workers, packets);
    });
    router.run({.time = kCheckedFor, .packets = {}}, [](const runtime::Statistics&) {});
    const runtime::Statistics statistics = router.statistics();
    if (packets.checked() == 0) return {{"error", "the router has sent nothing"}};
    if (const auto wrong = packets.wrong_in_words()) return {{"wrong", *wrong}};
    if (packets.checked() != statistics.received.packets || packets.checked() != statistics.sent.packets) {
      return {{"wrong", fmt::format("{} packets received, {} sent, {} of them checked", statistics.received.packets,
                                    statistics.sent.packets, packets.checked())}};
    }
    return {{"packets", packets.checked()}};
  }

  void compare(const RouterSystem& system, unsigned workers) {
    std::vector<Contender> turns;
    const auto add = [&](const std::string& engine) {
      const std::string choice = choice_of(engine, workers * system.functions);
      if (choice != engine) report_.note(fmt::format("{}, {} workers: {}", system.name, workers, choice));
      turns.push_back({engine, [path = write_config(system, choice, workers)] { return rate(path); }});
    };
    for (const EngineInfo* engine : engines_here()) {
      add(engine->name);
      if (engine->name == "scalar" && system.has_avx512) add(kPlain);
    }
    report_.compare(system.name + ", " + workers_in_words(workers), "M packets/s",
                    interleave(turns, options_.rounds, FirstRound::measured), "scalar",
                    Place{{measurement_, system.name, "workers"}, static_cast<double>(workers)});
  }

  /// Returns the million packets per second of the whole system.
  static double rate(const std::string& config) {
    const Finished run = run_program({router_program(), "run", config, "--for", kRunFor, "-j"});
    const nlohmann::json summary = nlohmann::json::parse(run.output);
    if (summary.at("received").at("packets") != summary.at("sent").at("packets")) {
      throw WrongAnswer(config + ": not every packet was sent on: " + summary.at("reasons").dump());
    }
    return summary.at("sent").at("packets_per_second").get<double>() * 1e-6;
  }

  const Options& options_;
  Report& report_;
  const char* const measurement_;
  const TemporaryFolder folder_;
  const RouterSystems makers_;
  std::vector<RouterSystem> systems_;
};

void run_e8(const Options& options, Report& report) {
  CoresBench bench(options, report, "E8");
  const RouterSystems& makers = bench.makers();
  for (const auto make :
       {&RouterSystems::echo, &RouterSystems::ipv4, &RouterSystems::ipv6, &RouterSystems::l2, &RouterSystems::ndn}) {
    bench.add((makers.*make)());
  }
  bench.run();
}

void run_e22(const Options& options, Report& report) {
  CoresBench bench(options, report, "E22");
  bench.add(bench.makers().flows());
  report.note("the forwarding of IPv4 and IPv6 alone by number of workers, without accounting, is E8's");
  bench.run();
}

[[maybe_unused]] const bool kCoresBenchmarks[] = {
    register_benchmark({.name = "cores",
                        .measurements = {"E8"},
                        .measures = "whole routers by function, engine and number of workers",
                        .needs = "4 GiB of memory",
                        .cost = {.once = 12, .a_round = 6.5, .is_of_each_router = true, .once_on_gpu = 30},
                        .run = &run_e8}),
    register_benchmark({.name = "cores",
                        .measurements = {"E22"},
                        .measures = "accounting for flows and forwarding them, by engine and number of workers",
                        .needs = "4 GiB of memory",
                        .cost = {.once = 4, .a_round = 2.7, .is_of_each_router = true, .once_on_gpu = 4},
                        .run = &run_e22})};

}  // namespace
}  // namespace penumbra::bench
