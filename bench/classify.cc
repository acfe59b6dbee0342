// SPDX-License-Identifier: Apache-2.0
//
// Measures packet classification on one core: every rule structure on every engine, and DPDK's rte_acl.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "classifying.h"
#include "control/rules/classbench.h"
#include "pin.h"
#include "rivals/rte_acl.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kHeaders = 65'536;
constexpr std::array<std::size_t, 2> kHeaderBatches{64, 256};
constexpr std::size_t kRivalRules = 20'000;  // With more rules rte_acl takes minutes.
constexpr std::size_t kManyRules = 90'000;   // From this number on the bar is an absolute figure.
constexpr std::array<std::uint32_t, 2> kGenerated{1'000, 10'000};

std::vector<RuleTask> tasks_of(const Options& options) {
  std::vector<RuleTask> tasks;
  for (const auto& file : options.rules) {
    auto list = control::rules::read_classbench(file);
    if (list.fields != RuleFields::ipv4) throw std::invalid_argument(file.string() + ": rules of IPv4 are measured");
    tasks.push_back(
        make_rule_task(file.filename().string(), RuleFields::ipv4, std::move(list.rules), {}, kHeaders, options.seed));
  }
  if (!tasks.empty()) return tasks;
  for (const std::uint32_t rules : kGenerated) {
    tasks.push_back(make_rule_task(
        fmt::format("{} generated rules", rules),
        {.fields = RuleFields::ipv4, .rules = rules, .classes = 64, .full_classes = 64, .seed = options.seed},
        kHeaders));
  }
  return tasks;
}

/// Highest rate of each in M headers/s for a task; `rival` is 0 without rte_acl.
struct Found {
  double rival = 0, fast = 0;
};

Found compare(const RuleTask& task, const std::vector<RuleClassifier>& classifiers, const Options& options,
              Report& report) {
  Found found;
  for (const std::size_t batch : kHeaderBatches) {
    std::vector<Contender> turns;
    turns.reserve(classifiers.size());
    for (const RuleClassifier& classifier : classifiers) turns.push_back(classifying(task, classifier, batch));
    const auto series = interleave(turns, options.rounds);
    report.compare(fmt::format("{}, {} rules, batches of {}", task.name, task.rules.size(), batch), "M headers/s/core",
                   series, series.front().name,
                   Place{{"classify", fmt::format("rules, batches of {}", batch), "rules"}, task.name});
    for (const Series& each : series) {
      double& most = each.name.starts_with("rte_acl") ? found.rival : found.fast;
      if (&most == &found.fast && !each.name.ends_with(", fast")) continue;
      most = std::max(most, spread(each.samples).median);
    }
  }
  return found;
}

Found classify_task(const RuleTask& task, const Options& options, Report& report) {
  report.input(fmt::format("{}, {} rules", task.name, task.rules.size()),
               "headers drawn from the rules, in random order");
  NoReaders no_readers;
  std::vector<std::unique_ptr<FilledRuleTable>> tables;
  std::vector<RuleClassifier> classifiers;
  for (const RuleStructure& structure : rule_structures()) {
    if (structure.name == "linear") continue;
    FilledRuleTable& table = *tables.emplace_back(std::make_unique<FilledRuleTable>(
        structure.name, structure.create(task.fields, options.seed, no_readers), task));
    report.note(fmt::format("{}: built in {:.2f} s, {} bytes a rule", structure.name, table.seconds_to_fill(),
                            table.bytes_a_rule()));
    for (const EngineInfo* info : engines_here()) {
      if (info->is_synchronous) table.add_classifier(info->name, classifiers);
    }
  }
  std::unique_ptr<HugeHeap> heap;
  std::unique_ptr<RteAcl> acl;
  if (task.rules.size() <= kRivalRules) {
    static unsigned heaps = 0;
    heap = std::make_unique<HugeHeap>(fmt::format("acl{}", heaps++), std::size_t{1} << 30);
    const double begin = now();
    acl = std::make_unique<RteAcl>(*heap, task.rules);
    report.note(fmt::format("rte_acl: built in {:.2f} s", now() - begin));
    acl->prepare(task.headers);
    for (const RteAcl::Way& way : RteAcl::ways()) {
      classifiers.push_back(
          {"rte_acl " + way.name, [way, of = acl.get()](std::size_t at, std::size_t count, auto* places) {
             of->classify(way, at, count, places);
           }});
    }
  }
  std::ranges::reverse(classifiers);  // The widest rte_acl is the reference.
  check_classifiers(task, classifiers, kHeaderBatches, task.headers.size());
  report.checked(fmt::format("{}: every answer of {} contenders; of linear search as many as it has time for",
                             task.name, classifiers.size()));
  const Found found = compare(task, classifiers, options, report);
  if (task.rules.size() >= kManyRules) report.bar("fast, M headers/s, " + task.name, found.fast, 30, true);
  return found;
}

/// Returns the ClassBench size nearest to the task's: "1 K" or "10 K".
std::string size_of(const RuleTask& task) {
  return task.rules.size() < 3000 ? "1 K" : "10 K";
}

void run_classify(const Options& options, Report& report) {
  pin_to_first_core();
  std::map<std::string, std::vector<double>> ratios;  // By size of the sets.
  for (const RuleTask& task : tasks_of(options)) {
    const Found found = classify_task(task, options, report);
    if (found.rival != 0) ratios[size_of(task)].push_back(found.fast / found.rival);
  }
  for (const std::string size : {"1 K", "10 K"}) {
    const std::vector<double>& of = ratios[size];
    double product = 1;
    for (const double ratio : of) product *= ratio;
    const std::string what = "fast / rte_acl at their best, geometric mean of ClassBench's sets of " + size + " rules";
    if (options.rules.empty() || of.empty()) {
      report.bar_not_shown(what, "no such sets were given (--rules)");
    } else {
      report.bar(what, std::pow(product, 1.0 / static_cast<double>(of.size())), 2.0, true);
    }
  }
}

[[maybe_unused]] const bool kClassifyBenchmark =
    register_benchmark({.name = "classify",
                        .measures = "packets classified on one core: every structure for rules compared with rte_acl",
                        .needs = "2 GB of memory; for its bars files of ClassBench (--rules)",
                        .cost = {4, 3},
                        .takes_rules = true,
                        .run = &run_classify});

}  // namespace
}  // namespace penumbra::bench
