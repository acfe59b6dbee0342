// SPDX-License-Identifier: Apache-2.0
//
// Packets classified on one core: every structure for rules on every engine beside DPDK's rte_acl.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "control/rules/classbench.h"
#include "control/rules/header_generator.h"
#include "control/rules/rule_generator.h"
#include "lookup_contender.h"
#include "on_engine.h"
#include "pin.h"
#include "rivals/rte_acl.h"
#include "shaders/rules/rule_set.h"
#include "shaders/rules/rule_structures.h"
#include "shaders/rules/rules.shader.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kHeaders = 65'536;
constexpr std::array<std::size_t, 2> kHeaderBatches{64, 256};
constexpr std::size_t kTried = std::size_t{1} << 30;  // rules by linear search, at most
constexpr std::size_t kRivalRules = 20'000;           // more take rte_acl minutes
constexpr std::size_t kManyRules = 90'000;            // from here on the bar is a number
constexpr std::array<std::uint32_t, 2> kGenerated{1'000, 10'000};

/// Rules, headers drawn from them, and who wins: places from 1, or 0.
struct Task {
  std::string name;
  std::vector<Rule> rules;
  std::vector<RuleWords> keys;
  std::vector<rules_narrow_key> columns;
};

/// Writes places of rules of `count` headers from `at` on.
struct Classifier {
  std::string name;
  std::function<void(std::size_t at, std::size_t count, std::uint32_t* places)> classify;
};

Task task_of(std::string name, std::vector<Rule> rules, std::uint64_t seed) {
  Task task{.name = std::move(name), .rules = std::move(rules), .keys = {}, .columns = {}};
  std::vector<RuleMatch> inside;
  inside.reserve(task.rules.size());
  for (const Rule& rule : task.rules) inside.push_back(rule.match);
  control::rules::HeaderGenerator headers(RuleFields::ipv4, task.rules, inside, {.seed = seed});
  for (std::size_t i = 0; i < kHeaders; ++i) {
    task.keys.push_back(headers.next().key);
    task.columns.push_back({{task.keys.back()[0], task.keys.back()[1]}});
  }
  return task;
}

std::vector<Task> tasks_of(const Options& options) {
  std::vector<Task> tasks;
  for (const auto& file : options.rules) {
    auto list = control::rules::read_classbench(file);
    if (list.fields != RuleFields::ipv4) throw std::invalid_argument(file.string() + ": rules of IPv4 are measured");
    tasks.push_back(task_of(file.filename().string(), std::move(list.rules), options.seed));
  }
  if (!tasks.empty()) return tasks;
  for (const std::uint32_t rules : kGenerated) {
    auto generated = control::rules::generate_rules(
        {.fields = RuleFields::ipv4, .rules = rules, .classes = 64, .full_classes = 64, .seed = options.seed});
    tasks.push_back(task_of(fmt::format("{} generated rules", rules), std::move(generated.rules), options.seed));
  }
  return tasks;
}

/// Of a sample that linear search has time for.
void check_linearly(const Task& task, const std::vector<std::uint32_t>& places, const std::string& name) {
  const std::size_t step = task.rules.size() * task.keys.size() / kTried + 1;
  for (std::size_t i = 0; i < task.keys.size(); i += step) {
    const auto wins = std::ranges::find_if(
        task.rules, [&](const Rule& rule) { return matches(rule.match, RuleFields::ipv4, task.keys[i]); });
    const std::size_t right = wins == task.rules.end() ? 0 : static_cast<std::size_t>(wins - task.rules.begin()) + 1;
    if (places[i] == right) continue;
    throw WrongAnswer(fmt::format("{}: header {} is rule {}'s, right is {}", name, i, places[i], right));
  }
}

/// Every contender gives every header the same answer, in every batch size, and the first one's are linear search's.
void check(const Task& task, const std::vector<Classifier>& classifiers, Report& report) {
  std::vector<std::uint32_t> right;
  for (const Classifier& classifier : classifiers) {
    for (const std::size_t batch : kHeaderBatches) {
      std::vector<std::uint32_t> places(task.keys.size(), ~0U);
      for_each_batch(places.size(), batch,
                     [&](std::size_t at, std::size_t count) { classifier.classify(at, count, &places[at]); });
      if (right.empty()) check_linearly(task, right = places, classifier.name);
      if (places == right) continue;
      throw WrongAnswer(fmt::format("{} and {} differ", classifier.name, classifiers.front().name));
    }
  }
  report.checked(fmt::format("{}: every answer of {} contenders; of linear search as many as it has time for",
                             task.name, classifiers.size()));
}

/// Measures, and returns how many times as fast as rte_acl at its best `fast` is at its best; 0 without rte_acl.
double compare(const Task& task, const std::vector<Classifier>& classifiers, const Options& options, Report& report) {
  double rival = 0, fast = 0;
  for (const std::size_t batch : kHeaderBatches) {
    std::vector<Contender> turns;
    turns.reserve(classifiers.size());
    for (const Classifier& classifier : classifiers) {
      turns.push_back({classifier.name, [&task, batch, of = &classifier] {
                         std::array<std::uint32_t, LookupContender::kMostBatch> places;
                         constexpr int kPasses = 8;
                         const double begin = thread_time();
                         for (int pass = 0; pass < kPasses; ++pass) {
                           for_each_batch(task.keys.size(), batch, [&](std::size_t at, std::size_t count) {
                             of->classify(at, count, places.data());
                             keep(places.data());
                           });
                         }
                         return static_cast<double>(task.keys.size()) * kPasses / (thread_time() - begin) * 1e-6;
                       }});
    }
    const auto series = interleave(turns, options.rounds);
    report.compare(fmt::format("{}, {} rules, batches of {}", task.name, task.rules.size(), batch), "M headers/s/core",
                   series, series.front().name);
    for (const Series& each : series) {
      double& most = each.name.starts_with("rte_acl") ? rival : fast;
      if (&most == &fast && !each.name.ends_with("fast")) continue;
      most = std::max(most, spread(each.samples).median);
    }
  }
  if (task.rules.size() >= kManyRules) report.bar("fast, M headers/s, " + task.name, fast, 30, true);
  return rival == 0 ? 0 : fast / rival;
}

double classify_task(Task& task, const Options& options, Report& report) {
  report.input(fmt::format("{}, {} rules", task.name, task.rules.size()),
               "headers drawn from the rules, in random order");
  NoReaders no_readers;
  std::vector<std::unique_ptr<RuleTable>> tables;
  std::vector<std::unique_ptr<OnEngine>> engines;
  std::vector<Classifier> classifiers;
  for (const RuleStructure& structure : rule_structures()) {
    if (structure.name == "linear") continue;
    RuleTable& table = *tables.emplace_back(structure.create(RuleFields::ipv4, options.seed, no_readers));
    const double begin = now();
    for (std::size_t i = 0; i < task.rules.size(); ++i) {
      table.insert(static_cast<std::uint32_t>(i + 1), task.rules[i].match, task.rules.size() - i);
    }
    table.commit();
    report.note(fmt::format("{}: built in {:.2f} s, {} bytes a rule", structure.name, now() - begin,
                            table.memory_bytes() / task.rules.size()));
    for (const EngineInfo* info : engines_here()) {
      if (!info->at_once) continue;
      OnEngine& on = *engines.emplace_back(std::make_unique<OnEngine>(info->name, table.table()));
      if (!on.has_shader()) continue;
      classifiers.push_back({on.name() + ", " + structure.name, [&](std::size_t at, std::size_t count, auto* places) {
                               on.run(&task.columns[at], places, count);
                             }});
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
    acl->prepare(task.keys);
    for (const RteAcl::Way& way : RteAcl::ways()) {
      classifiers.push_back(
          {"rte_acl " + way.name, [way, of = acl.get()](std::size_t at, std::size_t count, auto* places) {
             of->classify(way, at, count, places);
           }});
    }
  }
  std::ranges::reverse(classifiers);  // rte_acl's widest is the reference
  check(task, classifiers, report);
  return compare(task, classifiers, options, report);
}

void run_classify(const Options& options, Report& report) {
  pin_to_first_core();
  double product = 1;
  unsigned sets = 0;
  for (Task& task : tasks_of(options)) {
    const double times = classify_task(task, options, report);
    if (times == 0) continue;
    product *= times;
    ++sets;
  }
  if (sets == 0) return;
  report.bar("fast / rte_acl at their best, geometric mean of the sets", std::pow(product, 1.0 / sets), 2.0, true);
}

[[maybe_unused]] const bool kClassifyBenchmark =
    register_benchmark({.name = "classify",
                        .measures = "packets classified on one core: every structure for rules beside rte_acl",
                        .needs = "2 GB of memory",
                        .cost = {20, 6},
                        .takes_rules = true,
                        .run = &run_classify});

}  // namespace
}  // namespace penumbra::bench
