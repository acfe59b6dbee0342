// SPDX-License-Identifier: Apache-2.0
//
// Measures throughput against the maximum delay of a batch, by one worker and by several (GSwitch, figures 10 and 11).
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench.h"
#include "gpu/core_team.h"
#include "gpu/ipv4_work.h"
#include "gpu/measurements.h"
#include "gpu/rule_work.h"
#include "loaded_engine.h"
#include "pin.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::array<std::pair<const char*, double>, 4> kDelayed{
    {{"cuda", 0}, {"cuda,max_delay=20", 20}, {"cuda,max_delay=100", 100}, {"cuda,max_delay=500", 500}}};
/// Numbers of the paper's microbenchmarks. The paper's figures 10 and 11 use a real set of 1834 rules in 80 subtables.
constexpr std::uint32_t kDelayedRules = 1024, kDelayedClasses = 128;
constexpr std::size_t kDelayedHeaders = std::size_t{1} << 18;

/// Returns the name of the curve for `workers` workers, which does not depend on the machine.
std::string curve_of(unsigned workers) {
  const bool is_most = workers > 1 && workers == worker_counts().back();
  return is_most ? "as many workers as cores but one" : workers_in_words(workers);
}

void measure(const std::string& name, const char* unit, LookupWork& work, const Options& options, Report& report) {
  std::vector<std::unique_ptr<LoadedEngine>> loaded;
  for (const auto& [choice, delay] : kDelayed) {
    loaded.push_back(load_engine(choice, worker_counts().back(), work, report));
    if (loaded.back() == nullptr) return;
  }
  const std::string title = name + ", as much as goes";
  for (const unsigned workers : worker_counts()) {
    Places places{{"E15", title, "maximum delay", "us"}, curve_of(workers), {}};
    std::vector<Contender> contenders;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      places.at.emplace_back(kDelayed[i].second);
      contenders.push_back({kDelayed[i].first, [&each = *loaded[i], workers] { return each.rate_of(workers); }});
    }
    report.compare(fmt::format("{}, by the maximum delay, {}", title, workers_in_words(workers)), unit,
                   interleave(contenders, options.rounds), kDelayed.front().first, places);
  }
  for (const auto& each : loaded) report_notes(each->choice, *each->engine, report);
}

}  // namespace

void measure_delays(const Options& options, Report& report) {
  pin_to_first_core();
  {
    Ipv4Work work(options);
    report.input("table", work.input.description);
    report.input("addresses", fmt::format("{}, uniform, seed {}", work.size(), options.seed));
    measure("IPv4", "M look-ups/s", work, options, report);
  }
  const RuleTask task = make_rule_task(
      fmt::format("{} rules of 12 fields in {} classes", kDelayedRules, kDelayedClasses),
      {.rules = kDelayedRules, .classes = kDelayedClasses, .full_classes = kDelayedClasses, .seed = options.seed},
      kDelayedHeaders);
  report.input("rules", fmt::format("{}, generated, one class matches a header, seed {}", task.name, options.seed));
  RuleWork work("bloom", options.seed, task, right_answers(task, options.seed));
  measure("Bloom search", "M headers/s", work, options, report);
}

}  // namespace penumbra::bench::gpu
