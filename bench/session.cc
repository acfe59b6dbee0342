// SPDX-License-Identifier: Apache-2.0
//
// A run of `penumbra bench`: what is asked for, one benchmark after the other, and the document of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "apart.h"
#include "bench.h"
#include "document.h"
#include "energy.h"
#include "machine.h"
#include "progress.h"
#include "schedule.h"

namespace penumbra::bench {
namespace {

void print(const char* title, const nlohmann::json& object) {
  fmt::print("{}\n", title);
  for (const auto& [key, value] : object.items()) {
    fmt::print("   {}: {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

/// Lines joined by semicolons.
std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

std::string title_of(const Benchmark& benchmark) {
  return benchmark.measurement.empty() ? benchmark.name : benchmark.measurement + " " + benchmark.name;
}

/// Throws if one of these has no use for the files that were given.
void require_takers(const std::vector<Benchmark>& asked, bool Benchmark::* takes, const char* makes,
                    const char* files) {
  const auto without = std::ranges::find(asked, false, takes);
  if (without == asked.end()) return;
  std::vector<std::string> takers;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.*takes) takers.push_back(benchmark.name);
  }
  takers.erase(std::unique(takers.begin(), takers.end()), takers.end());
  throw std::invalid_argument(fmt::format("the benchmark '{}' makes {} of its own; name those that take {}: {}",
                                          without->name, makes, files, fmt::join(takers, " ")));
}

/// Of one name all that have it, and likewise of a measurement; in the order of benchmarks().
std::vector<Benchmark> chosen(const Options& options) {
  const auto is = [](const std::string& name) {
    return [&name](const Benchmark& each) {
      return name == kAll || each.name == name || (each.measurement == name && !name.empty());
    };
  };
  for (const std::string& name : options.names) {
    if (std::ranges::any_of(benchmarks(), is(name))) continue;
    const auto later = std::ranges::find(planned(), name, &Planned::measurement);
    if (later == planned().end()) throw std::invalid_argument("no benchmark '" + name + "'; see `penumbra bench list`");
    throw std::invalid_argument(
        fmt::format("{} ({}) is not there yet: it waits for {}", name, later->measures, later->waits_for));
  }
  std::vector<Benchmark> result;
  std::ranges::copy_if(benchmarks(), std::back_inserter(result), [&](const Benchmark& each) {
    return std::ranges::any_of(options.names, [&](const std::string& name) { return is(name)(each); });
  });
  if (options.routes) require_takers(result, &Benchmark::takes_routes, "a table", "a route file");
  if (!options.rules.empty()) require_takers(result, &Benchmark::takes_rules, "its rules", "a file of rules");
  return result;
}

/// With the GPU, which only a process that ends may ask for: what begins CUDA cannot be forked any more.
nlohmann::json describe_all() {
  nlohmann::json machine = describe_machine();
  const nlohmann::json found = run_apart(
      "machine",
      []() -> nlohmann::json {
        const auto cuda = std::ranges::find(engines(), "cuda", &EngineInfo::name);
        if (cuda == engines().end()) return nlohmann::json::object();
        const Availability gpu = cuda->probe();
        return gpu.available ? nlohmann::json{{"gpu", gpu.reason}} : nlohmann::json::object();
      },
      [] {});
  if (found.contains("gpu")) machine["gpu"] = found["gpu"];
  return machine;
}

/// In the child.
nlohmann::json measure(const Benchmark& benchmark, const Options& options) {
  if (benchmark.probe != nullptr) {
    const Availability found = benchmark.probe();
    if (!found.available) {
      if (!options.json) fmt::print("\n== {}\n   not shown: {}\n", title_of(benchmark), found.reason);
      return {{"absent", found.reason}};
    }
  }
  Report report(title_of(benchmark), options.json);
  benchmark.run(options, report);
  return report.json();
}

void print_bars(const BarCount& bars) {
  fmt::print("\nbars: {} met, {} missed, {} not shown\n", bars.met, bars.missed, bars.not_shown);
}

class Session {
 public:
  Session(const Options& options, std::vector<Benchmark> selection, Document& document)
      : options_(options),
        document_(document),
        selection_(std::move(selection)),
        schedule_(costs(selection_), options.rounds, options.budget),
        progress_(options.json) {}

  void run() {
    meters_.joules();
    for (const Benchmark& benchmark : selection_) run(benchmark);
  }

 private:
  static std::vector<Cost> costs(const std::vector<Benchmark>& selection) {
    std::vector<Cost> result;
    std::ranges::transform(selection, std::back_inserter(result), &Benchmark::cost);
    return result;
  }

  void run(const Benchmark& benchmark) {
    const unsigned rounds = schedule_.rounds_of_next();
    progress_.begin(title_of(benchmark), schedule_);
    if (rounds == 0) {
      document_.add(benchmark, {{"left_out", fmt::format("it did not fit into what was left of {}",
                                                         duration_name(options_.budget.value_or(0)))}});
      return schedule_.took(0, 0);
    }
    Options own = options_;
    own.rounds = rounds;
    const double begin = now();
    nlohmann::json entry =
        run_apart(title_of(benchmark), [&] { return measure(benchmark, own); }, [this] { progress_.tick(schedule_); });
    const double seconds = now() - begin;
    entry["rounds"] = rounds;
    entry["seconds"] = seconds;
    if (const auto joules = meters_.joules()) entry["watts"] = *joules / seconds;
    const bool is_measured = bench::is_measured(entry);
    document_.add(benchmark, std::move(entry));
    schedule_.took(is_measured ? rounds : 0, seconds);
  }

  const Options& options_;
  Document& document_;
  std::vector<Benchmark> selection_;
  Schedule schedule_;
  Progress progress_;
  EnergyMeters meters_;
};

}  // namespace

Outcome run(const Options& options, const std::string& version) {
  std::vector<Benchmark> selection = chosen(options);
  Document document(options, describe_all(), {{"version", one_line(version)}, {"flags", PENUMBRA_FLAGS}});
  const std::size_t asked = selection.size();
  std::erase_if(selection, [&document](const Benchmark& benchmark) { return document.has(benchmark); });
  if (!options.json) {
    print("machine", document.json()["machine"]);
    print("build", document.json()["build"]);
    if (selection.size() != asked) {
      fmt::print("{} of {} have been measured already\n", asked - selection.size(), asked);
    }
  }
  Session(options, std::move(selection), document).run();
  if (options.json) {
    fmt::print("{}\n", document.json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_bars(document.bars());
  }
  std::fflush(stdout);
  if (document.has_errors()) return Outcome::failed;
  return document.bars().missed == 0 ? Outcome::ok : Outcome::bar_missed;
}

}  // namespace penumbra::bench
