// SPDX-License-Identifier: Apache-2.0
//
// Measures whole routers from a source in memory to counting sinks, by function, engine and number of workers. The
// sources are figure 10 of G-Opt, and figures 5 and 6 of the integrated GPUs' paper.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "gpu/core_team.h"
#include "router_runs.h"

namespace penumbra::bench {
namespace {

class CoresBench {
 public:
  CoresBench(const Options& options, Report& report, const char* measurement)
      : options_(options), report_(report), measurement_(measurement), runs_(options, report) {}

  const RouterSystems& makers() const { return runs_.makers(); }

  void add(RouterSystem system) {
    report_.input(system.name, system.input);
    systems_.push_back(std::move(system));
  }

  void run() {
    for (RouterSystem& system : systems_) {
      runs_.check(system, worker_counts().back());
      system.may_leave = nullptr;  // It may own a table.
    }
    for (const RouterSystem& system : systems_) {
      for (const unsigned workers : worker_counts()) compare(system, workers);
    }
    report_.checked("every packet of every run was sent on");
  }

 private:
  void compare(const RouterSystem& system, unsigned workers) {
    std::vector<Contender> turns;
    for (const std::string& engine : RouterRuns::engines_of(system)) {
      const std::string choice = choice_of(engine, workers * system.functions);
      if (choice != engine) report_.note(fmt::format("{}, {} workers: {}", system.name, workers, choice));
      turns.push_back(
          {engine, [path = runs_.write_config(system, choice, workers)] { return RouterRuns::rate(path); }});
    }
    report_.compare(system.name + ", " + workers_in_words(workers), "M packets/s",
                    interleave(turns, options_.rounds, FirstRound::measured), "scalar",
                    Place{{measurement_, system.name, "workers"}, static_cast<double>(workers)});
  }

  const Options& options_;
  Report& report_;
  const char* const measurement_;
  const RouterRuns runs_;
  std::vector<RouterSystem> systems_;
};

void run_e8(const Options& options, Report& report) {
  CoresBench bench(options, report, "E8");
  const RouterSystems& makers = bench.makers();
  bench.add(makers.echo());
  bench.add(makers.ipv4());
  bench.add(makers.ipv6());
  bench.add(makers.l2());
  bench.add(makers.ndn());
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
