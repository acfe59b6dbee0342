// SPDX-License-Identifier: Apache-2.0
//
// Latency against load, of IPv4 look-ups by one worker, on every engine of this machine and on `auto`; and throughput
// against the maximum delay, by one worker and by several (PacketShader, figure 12; G-Opt, figure 11; GSwitch, figures
// 10 and 11).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "gpu/core_team.h"
#include "gpu/ipv4_work.h"
#include "gpu/measurements.h"
#include "loaded_worker.h"
#include "pin.h"

namespace penumbra::bench {
namespace {

constexpr std::array<double, 7> kLoads{0.02, 0.2, 0.5, 0.8, 0.95, 1.1, 2.0};  ///< of what the best CPU engine gets done
constexpr std::array<std::pair<const char*, double>, 4> kDelayed{
    {{"cuda", 0}, {"cuda,max_delay=20", 20}, {"cuda,max_delay=100", 100}, {"cuda,max_delay=500", 500}}};
constexpr unsigned kTimes = 5;     ///< their median counts, of what a CPU engine gets done
constexpr double kSaturating = 2;  ///< of what it got done in one run
constexpr char kOfRate[] = "auto / best single engine, look-ups/s, least of all loads";
constexpr char kOfLatency[] = "auto / best CPU engine, median latency at the lightest load";

/// The engine of a choice, and workers that load it, the member-th on the member-th core.
struct Loaded {
  std::string choice;
  bool at_once = false;
  std::unique_ptr<Engine> engine;
  std::vector<std::unique_ptr<LoadedWorker>> workers;  ///< end before the engine

  LoadedWorker& only() const { return *workers.front(); }
  /// Million look-ups a second of the first `count` workers together.
  double rate_of(unsigned count) const {
    std::vector<double> rates(count);
    run_team(count, [&](unsigned member) { rates[member] = workers[member]->run(LoadedWorker::kNoLimit).rate; });
    return std::accumulate(rates.begin(), rates.end(), 0.0) * 1e-6;
  }
};

/// What the curve of so many workers is called, whatever the machine.
std::string curve_of(unsigned workers) {
  const bool is_most = workers > 1 && workers == worker_counts().back();
  return is_most ? "as many workers as cores but one" : workers_in_words(workers);
}

class LoadBench {
 public:
  LoadBench(const Options& options, Report& report) : options_(options), report_(report), work_(options) {
    report.input("table", work_.input.description);
    report.input("addresses", fmt::format("{}, uniform, seed {}", work_.size(), options.seed));
  }

  void against_load() {
    for (const EngineInfo& info : engines()) {
      if (info.probe().available) open(info.name, info.at_once);
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

  void against_delay() {
    std::vector<std::unique_ptr<Loaded>> opened;
    for (const auto& [choice, delay] : kDelayed) {
      opened.push_back(make(choice, false, worker_counts().back()));
      if (opened.back() == nullptr) return;
    }
    for (const unsigned workers : worker_counts()) {
      Places places{{"E15", "as much as goes", "maximum delay", "us"}, curve_of(workers), {}};
      std::vector<Contender> contenders;
      for (std::size_t i = 0; i < opened.size(); ++i) {
        places.at.emplace_back(kDelayed[i].second);
        contenders.push_back({kDelayed[i].first, [&each = *opened[i], workers] { return each.rate_of(workers); }});
      }
      report_.compare("as much as goes, by the maximum delay, " + workers_in_words(workers), "M look-ups/s",
                      interleave(contenders, options_.rounds), kDelayed.front().first, places);
    }
    for (const auto& each : opened) gpu::report_notes(each->choice, *each->engine, report_);
  }

 private:
  struct Figures {
    std::vector<Series> rates, medians, p99s;
  };

  /// Null, and a note, if it is not here.
  std::unique_ptr<Loaded> make(const std::string& choice, bool at_once, unsigned workers) {
    gpu::OpenedEngine opened = gpu::open_engine(choice, work_);
    if (opened.engine == nullptr) {
      report_.note(fmt::format("{} is not measured: {}", choice, opened.why_not));
      return nullptr;
    }
    auto loaded = std::make_unique<Loaded>();
    loaded->choice = choice;
    loaded->at_once = at_once;
    loaded->engine = std::move(opened.engine);
    for (unsigned member = 0; member < workers; ++member) {
      loaded->workers.push_back(std::make_unique<LoadedWorker>(*loaded->engine, work_, core(member)));
    }
    loaded->engine->expect(*loaded->engine->find_shader(work_.penumbra_table().name()), work_.penumbra_table());
    // What the engine measures before there is traffic.
    for (const auto& [name, member] : loaded->engine->members()) member->recall({});
    loaded->engine->recall({});
    for (const double rate : {LoadedWorker::kNoLimit, 1e6}) {
      run_team(workers, [&](unsigned member) { loaded->workers[member]->check(rate); });
    }
    report_.checked(fmt::format("{}, {}: every answer, under light and heavy load", choice, workers_in_words(workers)));
    return loaded;
  }
  void tell_notes() {
    for (const Loaded& each : loaded_) {
      for (const auto& [name, member] : each.engine->members())
        gpu::report_notes(each.choice + ", " + name, *member, report_);
      gpu::report_notes(each.choice, *each.engine, report_);
    }
  }
  void open(const std::string& choice, bool at_once) {
    auto loaded = make(choice, at_once, 1);
    if (loaded != nullptr) loaded_.push_back(std::move(*loaded));
  }

  Figures measure(double rate) {
    Figures figures;
    for (const Loaded& each : loaded_) {
      for (auto* series : {&figures.rates, &figures.medians, &figures.p99s}) series->push_back({each.choice, {}});
    }
    for (unsigned round = 0; round <= options_.rounds; ++round) {
      for (std::size_t i = 0; i < loaded_.size(); ++i) {
        const LoadedWorker::Figures found = loaded_[i].only().run(rate);
        if (round == 0) continue;
        figures.rates[i].samples.push_back(found.rate * 1e-6);
        figures.medians[i].samples.push_back(found.median * 1e6);
        figures.p99s[i].samples.push_back(found.p99 * 1e6);
      }
    }
    return figures;
  }

  /// Look-ups a second that the best CPU engine gets done of more than it can: by turns, and of each its median, as in
  /// measure().
  double rate_of_overloaded_cpu() const {
    double most = 0;
    for (const Loaded& each : loaded_) {
      if (each.at_once) most = std::max(most, each.only().run(LoadedWorker::kNoLimit).rate);
    }
    std::vector<Contender> contenders;
    for (const Loaded& each : loaded_) {
      const auto work = [&each, rate = kSaturating * most] { return each.only().run(rate).rate; };
      if (each.at_once) contenders.push_back({each.choice, work});
    }
    return greatest_median(interleave(contenders, kTimes));
  }
  double greatest_median_on_cpu(const std::vector<Series>& of_all_engines) const {
    std::vector<Series> on_cpu;
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (loaded_[i].at_once) on_cpu.push_back(of_all_engines[i]);
    }
    return greatest_median(on_cpu);
  }
  static double greatest_median(const std::vector<Series>& all) {
    double greatest = 0;
    for (const Series& each : all) greatest = std::max(greatest, spread(each.samples).median);
    return greatest;
  }

  /// Of each other engine's rate.
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
      if (loaded_[i].at_once) least = std::min(least, ratios[i]);
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

void run_e15(const Options& options, Report& report) {
  pin_to_first_core();
  LoadBench(options, report).against_delay();
}

[[maybe_unused]] const bool kLoadBenchmarks[] = {
    register_benchmark({.name = "load",
                        .measurements = {"E9"},
                        .also = "gpu",
                        .measures = "latency against load for one worker, on every engine and on auto",
                        .needs = "a GPU for a choice to be seen",
                        .cost = {12, 7},
                        .takes_routes = true,
                        .run = &run_e9}),
    register_benchmark({.name = "load",
                        .measurements = {"E15"},
                        .also = "gpu",
                        .measures = "throughput against the maximum delay of a batch, by one worker and by several",
                        .needs = "an NVIDIA GPU",
                        .cost = {8, 3},
                        .takes_routes = true,
                        .probe = &gpu::find_gpu,
                        .run = &run_e15})};

}  // namespace
}  // namespace penumbra::bench
