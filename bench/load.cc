// SPDX-License-Identifier: Apache-2.0
//
// Measures latency against load, of IPv4 look-ups by one worker, on every engine of this machine and on `auto`
// (PacketShader, figure 12; G-Opt, figure 11).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "gpu/core_team.h"
#include "gpu/ipv4_work.h"
#include "gpu/measurements.h"
#include "loaded_engine.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr std::array<double, 7> kLoads{0.02, 0.2, 0.5, 0.8,
                                       0.95, 1.1, 2.0};  ///< Relative to the throughput of the best CPU engine.
constexpr unsigned kTimes = 5;                           ///< Runs whose median is the throughput of a CPU engine.
constexpr double kSaturating = 2;                        ///< Relative to the throughput of one run.
constexpr char kOfRate[] = "auto / best single engine, look-ups/s, least of all loads";
constexpr char kOfLatency[] = "auto / best CPU engine, median latency at the lightest load";

struct Loaded {
  std::unique_ptr<LoadedEngine> on;
  bool is_synchronous = false;  ///< True for a CPU engine.
};

class LoadBench {
 public:
  LoadBench(const Options& options, Report& report) : options_(options), report_(report), work_(options) {
    report.input("table", work_.input.description);
    report.input("addresses", fmt::format("{}, uniform, seed {}", work_.size(), options.seed));
  }

  void against_load() {
    for (const EngineInfo& info : engines()) {
      if (info.probe().available) open(info.name, info.is_synchronous);
    }
    const double most = rate_of_overloaded_cpu();
    report_.note(
        fmt::format("load 1 is {:.2f} M look-ups/s, what the best CPU engine got done of twice as many", most * 1e-6));
    double least_ratio = 1e9;
    std::vector<std::string> done;
    for (const double load : kLoads) {
      const Figures figures = measure(load * most);
      const std::string title = fmt::format("load {}", load);
      const auto place = [load](const char* what) {
        return Place{{"E9", what, "load, in parts of what the best CPU engine gets done"}, load};
      };
      report_.compare(title, "M look-ups/s", figures.rates, kAuto, place("rate"));
      const auto ratios = report_.compare(title + ", oldest packet of a chunk", "us, median", figures.medians, kAuto,
                                          place("latency of a chunk's oldest packet"));
      report_.compare(title + ", oldest packet of a chunk", "us, p99", figures.p99s, "",
                      place("latency of a chunk's oldest packet"));
      for (const double others : ratios_to_auto(figures.rates)) least_ratio = std::min(least_ratio, 1 / others);
      if (load == kLoads.front()) light_ratio_ = 1 / best_cpu(ratios);
      if (load > 1)
        done.push_back(fmt::format("{:.2f} at load {}", greatest_median_on_cpu(figures.rates) * 1e6 / most, load));
    }
    report_.note(fmt::format("of load 1 the best CPU engine got done {}: what is above that is overload for it",
                             fmt::join(done, ", ")));
    report_.bar(kOfRate, least_ratio, 0.95, true);
    report_.bar(kOfLatency, light_ratio_, 1.1, false);
    tell_notes();
  }

 private:
  struct Figures {
    std::vector<Series> rates, medians, p99s;
  };

  void tell_notes() {
    for (const Loaded& each : loaded_) {
      const LoadedEngine& on = *each.on;
      for (const auto& [name, member] : on.engine->members())
        gpu::report_notes(on.choice + ", " + name, *member, report_);
      gpu::report_notes(on.choice, *on.engine, report_);
    }
  }
  void open(const std::string& choice, bool is_synchronous) {
    auto loaded = load_engine(choice, 1, work_, report_);
    if (loaded != nullptr) loaded_.push_back({std::move(loaded), is_synchronous});
  }

  Figures measure(double rate) {
    Figures figures;
    for (const Loaded& each : loaded_) {
      for (auto* series : {&figures.rates, &figures.medians, &figures.p99s}) series->push_back({each.on->choice, {}});
    }
    for (unsigned round = 0; round <= options_.rounds; ++round) {
      for (std::size_t i = 0; i < loaded_.size(); ++i) {
        const LoadedWorker::Figures found = loaded_[i].on->only().run(rate);
        if (round == 0) continue;
        figures.rates[i].samples.push_back(found.rate * 1e-6);
        figures.medians[i].samples.push_back(found.median * 1e6);
        figures.p99s[i].samples.push_back(found.p99 * 1e6);
      }
    }
    return figures;
  }

  /// Returns the look-ups per second of the best CPU engine under overload. The engines run in turn, and the median of
  /// each counts, as in measure().
  double rate_of_overloaded_cpu() const {
    double most = 0;
    for (const Loaded& each : loaded_) {
      if (each.is_synchronous) most = std::max(most, each.on->only().run(LoadedWorker::kNoLimit).rate);
    }
    std::vector<Contender> contenders;
    for (const Loaded& each : loaded_) {
      const auto work = [&each, rate = kSaturating * most] { return each.on->only().run(rate).rate; };
      if (each.is_synchronous) contenders.push_back({each.on->choice, work});
    }
    return greatest_median(interleave(contenders, kTimes));
  }
  double greatest_median_on_cpu(const std::vector<Series>& of_all_engines) const {
    std::vector<Series> on_cpu;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (loaded_[i].is_synchronous) on_cpu.push_back(of_all_engines[i]);
    }
    return greatest_median(on_cpu);
  }
  static double greatest_median(const std::vector<Series>& all) {
    double greatest = 0;
    for (const Series& each : all) greatest = std::max(greatest, spread(each.samples).median);
    return greatest;
  }

  /// Returns the ratio of `auto` to the rate of each other engine.
  static std::vector<double> ratios_to_auto(const std::vector<Series>& rates) {
    const auto own = std::ranges::find(rates, std::string(kAuto), &Series::name);
    std::vector<double> ratios;
    for (const Series& each : rates) {
      if (each.name != kAuto) ratios.push_back(spread(ratio(each, *own).samples).median);
    }
    return ratios;
  }
  double best_cpu(const std::vector<double>& ratios) const {
    double least = 1e9;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (loaded_[i].is_synchronous) least = std::min(least, ratios[i]);
    }
    return least;
  }

  const Options& options_;
  Report& report_;
  gpu::Ipv4Work work_;
  std::vector<Loaded> loaded_;
  double light_ratio_ = 0;
};

void run_e9(const Options& options, Report& report) {
  pin_to_first_core();
  LoadBench(options, report).against_load();
}

[[maybe_unused]] const bool kLoadBenchmark =
    register_benchmark({.name = "load",
                        .measurements = {"E9"},
                        .also = "gpu",
                        .measures = "latency against load for one worker, on every engine and on auto",
                        .needs = "a GPU for a choice to be seen",
                        .cost = {12, 7},
                        .takes_routes = true,
                        .run = &run_e9});

}  // namespace
}  // namespace penumbra::bench
