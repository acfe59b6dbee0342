// SPDX-License-Identifier: Apache-2.0
//
// Measures packet classification with every rule structure while one property of the rules varies. The settings are
// those of figures 5 to 9 of M. Varvello et al.: Multilayer Packet Classification with Graphics Processing Units
// (IEEE/ACM ToN 2016).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "classifying.h"
#include "pin.h"
#include "rule_knobs.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench {
namespace {

constexpr std::size_t kKnobHeaders = 65'536;
constexpr std::size_t kKnobBatch = 1024;
constexpr std::uint64_t kCheckedLinearly = 1 << 25;  // Rules, by the shader `linear` on each engine.
constexpr double kWantedGain = 1.5;                  // Least gain of gopt on many rules.

/// Reports the gain of gopt at 128 K rules in 512 subtables, which has a bar.
void show_gain(const KnobSweep& sweep, const KnobSetting& setting, std::span<const Series> series, Report& report) {
  if (setting.rules.classes != 512 || setting.rules.rules != 512 * 256) return;
  for (const std::string structure : {"tuple", "bloom"}) {
    const std::string what = fmt::format("gopt / scalar, {}, {}: {:g}", structure, sweep.title, setting.at);
    const std::string gopt = classifier_name("gopt", structure);
    if (std::ranges::find(series, gopt, &Series::name) == series.end()) {
      report.bar_not_shown(what, "this build has no gopt");
      continue;
    }
    report.bar(what, ratio_between(series, gopt, classifier_name("scalar", structure)), kWantedGain, true);
  }
}

void measure(const KnobSweep& sweep, const KnobSetting& setting, const Options& options, Report& report) {
  const std::string place = fmt::format("{}: {:g} {}", sweep.title, setting.at, sweep.axis);
  const std::size_t batch = setting.batch.value_or(kKnobBatch);
  const RuleTask task = make_rule_task(place, setting.rules, kKnobHeaders);
  NoReaders no_readers;
  std::vector<std::unique_ptr<FilledRuleTable>> tables;
  std::vector<RuleClassifier> classifiers;
  for (const RuleStructure& structure : rule_structures()) {
    if (!has_turn(structure, sweep, setting)) continue;
    FilledRuleTable& table = *tables.emplace_back(
        std::make_unique<FilledRuleTable>(structure.name, make_table(structure, setting, no_readers), task));
    std::vector<RuleClassifier> on_engines;
    for (const EngineInfo* info : engines_here()) table.add_classifier(info->name, on_engines);
    const bool is_slow = structure.name == "linear";
    check_classifiers(task, on_engines, std::array{batch},
                      is_slow ? std::max<std::size_t>(kCheckedLinearly / task.rules.size(), 64) : kKnobHeaders);
    std::ranges::move(on_engines, std::back_inserter(classifiers));
  }
  std::vector<Contender> turns;
  turns.reserve(classifiers.size());
  for (const RuleClassifier& classifier : classifiers) turns.push_back(classifying(task, classifier, batch));
  const auto series = interleave(turns, options.rounds);
  report.compare(place, "M headers/s/core", series, classifier_name("scalar", tables.back()->structure()),
                 {.plot = {.measurement = "E13", .title = sweep.title, .x = sweep.axis}, .at = setting.at});
  show_gain(sweep, setting, series, report);
}

void run_knobs(const Options& options, Report& report) {
  pin_to_first_core();
  const auto sweeps = knob_sweeps(Knobs::all, options.seed);
  report.input("rules", knob_rules_in_words(options.seed));
  report.input("headers",
               fmt::format("{}, each drawn from a rule, in random order; in batches of {} unless a plot says "
                           "otherwise",
                           kKnobHeaders, kKnobBatch));
  std::size_t places = 0;
  for (const KnobSweep& sweep : sweeps) {
    for (const KnobSetting& setting : sweep.settings) measure(sweep, setting, options, report);
    places += sweep.settings.size();
  }
  report.checked(
      fmt::format("{} rule sets: each structure on each engine against linear search, for as many headers as "
                  "that has time for, and the engines against each other",
                  places));
}

[[maybe_unused]] const bool kKnobsBenchmark =
    register_benchmark({.name = "classify-knobs",
                        .measurements = {"E13"},
                        .measures = "classification by batch, Bloom filter, rules, classes and fields (GSwitch, 5-9)",
                        .needs = "2 GB of memory",
                        .cost = {95, 6},
                        .run = &run_knobs});

}  // namespace
}  // namespace penumbra::bench
