// SPDX-License-Identifier: Apache-2.0
//
// A run of `penumbra-bench`: selects the benchmarks, runs them one after the other, and writes the document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apart.h"
#include "bench.h"
#include "document.h"
#include "energy.h"
#include "machine.h"
#include "nvml.h"
#include "pace.h"
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

/// Joins lines by semicolons.
std::string one_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

std::string title_of(const Benchmark& benchmark) {
  return fmt::format("{}{}{}", fmt::join(benchmark.measurements, " "), benchmark.measurements.empty() ? "" : " ",
                     benchmark.name);
}

/// Throws if a requested benchmark cannot use the files that were given.
void require_consumer(const std::vector<Benchmark>& asked, bool Benchmark::* takes, const char* makes,
                      const char* files) {
  const auto without = std::ranges::find(asked, false, takes);
  if (without == asked.end()) return;
  std::vector<std::string> consumers;
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.*takes)
      consumers.push_back(benchmark.measurements.empty() ? benchmark.name : benchmark.measurements.front());
  }
  throw std::invalid_argument(fmt::format("{} makes {} of its own; name those that take {}: {}", title_of(*without),
                                          makes, files, fmt::join(consumers, " ")));
}

/// Returns all benchmarks with a requested name or measurement, in the order of benchmarks(). Adds the benchmarks whose
/// `also` is a requested name, with the probe of the benchmark of that name.
std::vector<Benchmark> chosen(const Options& options) {
  const auto is = [](const std::string& name) {
    return [&name](const Benchmark& each) {
      return name == kAll || each.name == name || std::ranges::find(each.measurements, name) != each.measurements.end();
    };
  };
  const auto is_named = [&](const Benchmark& each) {
    return std::ranges::any_of(options.names, [&](const std::string& name) { return is(name)(each); });
  };
  for (const std::string& name : options.names) {
    if (std::ranges::any_of(benchmarks(), is(name))) continue;
    throw std::invalid_argument("no benchmark '" + name + "'; see `penumbra-bench list`");
  }
  std::vector<Benchmark> result;
  for (const Benchmark& each : benchmarks()) {
    if (is_named(each)) {
      result.push_back(each);
    } else if (std::ranges::find(options.names, each.also) != options.names.end()) {
      const auto others = std::ranges::find(benchmarks(), each.also, &Benchmark::name);
      result.emplace_back(each).probe = others->probe;
    }
  }
  if (options.routes) require_consumer(result, &Benchmark::takes_routes, "a table", "a route file");
  if (!options.rules.empty()) require_consumer(result, &Benchmark::takes_rules, "its rules", "a file of rules");
  return result;
}

constexpr double kProbePatience = 60;  ///< Seconds for a driver to describe its devices.

/// Asks the drivers in a child process, because a process that has initialized CUDA cannot fork. Returns the GPU's name
/// under "gpu", and under "absent" the reasons why benchmarks cannot run here, by their titles.
nlohmann::json ask_drivers(const std::vector<Benchmark>& selection) {
  return run_apart(
      "drivers", kProbePatience,
      [&selection]() -> nlohmann::json {
        nlohmann::json found = {{"absent", nlohmann::json::object()}};
        const auto cuda = std::ranges::find(engines(), "cuda", &EngineInfo::name);
        const Availability gpu = cuda == engines().end() ? Availability{} : cuda->probe();
        if (gpu.available) found["gpu"] = gpu.reason;
        for (const Benchmark& benchmark : selection) {
          const Availability here = benchmark.probe == nullptr ? Availability{true, ""} : benchmark.probe();
          if (!here.available) found["absent"][title_of(benchmark)] = here.reason;
        }
        return found;
      },
      [] {});
}

/// Runs a benchmark in the child. Results before a failure count, but not if there is a wrong answer.
nlohmann::json measure(const Benchmark& benchmark, const Options& options) {
  Report report(title_of(benchmark), options.json);
  std::optional<std::string> error;
  try {
    benchmark.run(options, report);
  } catch (const WrongAnswer&) {
    throw;
  } catch (const std::exception& failure) {
    error = failure.what();
    fmt::print(stderr, "{}: {}\n", title_of(benchmark), *error);
  }
  nlohmann::json found = report.json();
  if (error) found["error"] = *error;
  return found;
}

/// Converts energy in `seconds` to mean power in W; null if there is no meter.
nlohmann::json watts(const Energy& joules, double seconds) {
  nlohmann::json watts;
  if (joules.processors) watts["processors"] = *joules.processors / seconds;
  if (joules.gpus) watts["gpus"] = *joules.gpus / seconds;
  return watts;
}

void print_bars(const BarCount& bars) {
  fmt::print("\nbars: {} met, {} missed, {} not shown\n", bars.met, bars.missed, bars.not_shown);
}

class Session {
 public:
  Session(const Options& options, Document& document, const Nvml& nvml, bool has_gpu)
      : options_(options), document_(document), has_gpu_(has_gpu), progress_(options.json), meters_(nvml) {}

  /// Measures as much as the budget allows. Skipped benchmarks are tried again when others have left time for them.
  void run(std::vector<Benchmark> selection) {
    while (!selection.empty()) {
      std::vector<Benchmark> left_out = measure_all(selection);
      if (left_out.size() == selection.size()) break;
      selection = std::move(left_out);
    }
  }
  bool has_failed() const { return has_failed_; }

 private:
  std::vector<Benchmark> measure_all(const std::vector<Benchmark>& selection) {
    std::vector<Cost> costs;
    std::ranges::transform(selection, std::back_inserter(costs),
                           [this](const Benchmark& each) { return cost_here(each, has_gpu_); });
    std::optional<double> budget = options_.budget;
    if (budget) *budget = std::max(*budget - (now() - begin_), 0.0);
    Schedule schedule(std::move(costs), options_.rounds, budget);
    std::vector<Benchmark> left_out;
    for (const Benchmark& benchmark : selection) {
      const unsigned rounds = schedule.rounds_of_next();
      if (rounds != 0) {
        measure_one(benchmark, rounds, schedule);
        continue;
      }
      document_.add(benchmark, {{"left_out", fmt::format("it did not fit into what was left of {}",
                                                         duration_name(options_.budget.value_or(0)))}});
      schedule.took(0, 0);
      left_out.push_back(benchmark);
    }
    return left_out;
  }

  void measure_one(const Benchmark& benchmark, unsigned rounds, Schedule& schedule) {
    progress_.begin(title_of(benchmark), schedule);
    Options own = options_;
    own.rounds = rounds;
    // Many times the expected duration, for slow machines.
    const double patience = 600 + 10 * cost_here(benchmark, has_gpu_).of(rounds);
    const double begin_with_pace = now();
    const nlohmann::json pace = pace_.now();
    meters_.since_last();  // Excludes the energy before the benchmark.
    const double begin = now();
    nlohmann::json entry = run_apart(
        title_of(benchmark), patience, [&] { return measure(benchmark, own); },
        [this, &schedule] { progress_.tick(schedule); });
    const double seconds = now() - begin;
    entry["rounds"] = rounds;
    entry["seconds"] = seconds;
    entry["pace"] = pace;
    nlohmann::json power = watts(meters_.since_last(), seconds);
    if (!power.is_null()) entry["watts"] = std::move(power);
    has_failed_ = has_failed_ || !is_measured(entry);
    schedule.took(is_measured(entry) ? rounds : 0, now() - begin_with_pace);
    document_.add(benchmark, std::move(entry));
  }

  const Options& options_;
  Document& document_;
  const bool has_gpu_;
  Progress progress_;
  EnergyMeters meters_;
  const double begin_ = now();
  PaceMeter pace_;
  bool has_failed_ = false;
};

/// Reports why benchmarks are absent, and removes them from `selection`.
void tell_absent(std::vector<Benchmark>& selection, const nlohmann::json& reasons, bool quiet, Document& document) {
  std::erase_if(selection, [&](const Benchmark& benchmark) {
    const auto why = reasons.find(title_of(benchmark));
    if (why == reasons.end()) return false;
    if (!quiet) fmt::print("\n== {}\n   not shown: {}\n", title_of(benchmark), why->get<std::string>());
    document.add(benchmark, {{"absent", *why}});
    return true;
  });
}

}  // namespace

Outcome run(const Options& options, const std::string& version, const std::function<void(std::string_view)>& write) {
  std::vector<Benchmark> selection = chosen(options);
  const nlohmann::json found = ask_drivers(selection);
  const Nvml nvml;
  nlohmann::json machine = describe_machine(nvml);
  if (found.contains("gpu")) machine["gpu"] = found["gpu"];
  Document document(options, std::move(machine), {{"version", one_line(version)}, {"flags", PENUMBRA_FLAGS}});
  const std::size_t asked = selection.size();
  std::erase_if(selection, [&document](const Benchmark& benchmark) { return document.has(benchmark); });
  if (!options.json) {
    print("machine", document.json()["machine"]);
    print("build", document.json()["build"]);
    if (selection.size() != asked) {
      fmt::print("{} of {} have been measured already\n", asked - selection.size(), asked);
    }
  }
  if (found.contains("absent")) tell_absent(selection, found["absent"], options.json, document);
  Session session(options, document, nvml, found.contains("gpu"));
  session.run(std::move(selection));
  if (options.json) {
    write(document.json().dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else {
    print_bars(document.bars());
  }
  std::fflush(stdout);
  if (session.has_failed()) return Outcome::failed;
  return document.bars().missed == 0 ? Outcome::ok : Outcome::bar_missed;
}

}  // namespace penumbra::bench
