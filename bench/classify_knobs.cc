// SPDX-License-Identifier: Apache-2.0
//
// Packets classified by every structure for rules, one knob of the rules turned at a time: figures 5 to 9 of M.
// Varvello et al.: Multilayer Packet Classification with Graphics Processing Units (CoNEXT 2014).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"
#include "classifying.h"
#include "pin.h"
#include "shaders/rules/rule_structures.h"
#include "shaders/rules_tuple/tuple_rules.h"

namespace penumbra::bench {
namespace {

using control::rules::RuleGeneratorOptions;

constexpr std::size_t kKnobHeaders = 65'536;
constexpr std::size_t kKnobBatch = 1024;
constexpr std::size_t kLinearRules = 8192;           // what it takes a header grows with them
constexpr std::uint64_t kCheckedLinearly = 1 << 25;  // rules, by the shader `linear` on each engine
constexpr double kWantedGain = 1.5;                  // of gopt, on many rules

/// A place in a plot: rules, and how they are searched.
struct Setting {
  double at = 0;
  RuleGeneratorOptions rules;
  std::size_t batch = kKnobBatch;
  std::optional<std::uint32_t> filter_bits = std::nullopt;  ///< a rule, of `bloom`, in place of its own choice
};

struct Sweep {
  std::string title, axis;
  std::vector<Setting> settings;
  bool is_of_filters = false;  ///< `bloom` alone
};

RuleGeneratorOptions rules_of(std::uint32_t rules, std::uint32_t classes, std::uint64_t seed) {
  return {.rules = rules, .classes = classes, .full_classes = classes, .seed = seed};
}

/// Figure 5.
Sweep by_batch(std::uint64_t seed) {
  Sweep sweep{.title = "rate by batch, 1024 rules in 128 classes", .axis = "batch", .settings = {}};
  for (const std::size_t batch : {32, 64, 128, 256, 1024, 4096, 16'384}) {
    sweep.settings.push_back({.at = static_cast<double>(batch), .rules = rules_of(1024, 128, seed), .batch = batch});
  }
  return sweep;
}

Sweep by_filter(std::uint64_t seed) {
  Sweep sweep{.title = "rate by Bloom filter, 32 K rules in 128 classes",
              .axis = "bits a rule",
              .settings = {},
              .is_of_filters = true};
  for (const std::uint32_t bits : {2, 4, 8, 16, 32, 64}) {
    sweep.settings.push_back(
        {.at = static_cast<double>(bits), .rules = rules_of(32'768, 128, seed), .filter_bits = bits});
  }
  return sweep;
}

/// Figure 7: 256 rules a class.
Sweep by_rules(RuleFields fields, std::uint64_t seed) {
  Sweep sweep{.title = fmt::format("rate by rules, 256 a class, {} fields", fields == RuleFields::openflow ? 12 : 5),
              .axis = "rules",
              .settings = {}};
  for (const std::uint32_t classes : {1, 4, 16, 64, 256, 512, 1024}) {
    Setting setting{.at = classes * 256.0, .rules = rules_of(classes * 256, classes, seed)};
    setting.rules.fields = fields;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

/// Figure 8.
Sweep by_classes(std::uint32_t rules, std::uint64_t seed) {
  Sweep sweep{.title = fmt::format("rate by classes, {} K rules", rules / 1024), .axis = "classes", .settings = {}};
  for (std::uint32_t classes = std::max<std::uint32_t>(rules / 256, 4); classes <= 1024; classes *= 4) {
    sweep.settings.push_back({.at = static_cast<double>(classes), .rules = rules_of(rules, classes, seed)});
  }
  return sweep;
}

/// By how many of the classes are of some kind (figure 9).
Sweep by_classes_that_are(const std::string& kind, std::uint32_t RuleGeneratorOptions::* knob, std::uint64_t seed) {
  Sweep sweep{.title = fmt::format("rate by {} classes, 1024 rules in 128 classes", kind),
              .axis = kind + " classes",
              .settings = {}};
  for (const std::uint32_t classes : {1, 4, 16, 64, 128}) {
    Setting setting{.at = static_cast<double>(classes), .rules = rules_of(1024, 128, seed)};
    setting.rules.*knob = classes;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

Sweep by_fields(std::uint64_t seed) {
  Sweep sweep{.title = "rate by fields, 1024 rules in 128 classes", .axis = "fields", .settings = {}};
  for (const double fields : {5, 12}) {
    Setting setting{.at = fields, .rules = rules_of(1024, 128, seed)};
    if (fields < 12) setting.rules.fields = RuleFields::ipv4;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

std::vector<Sweep> sweeps_of(std::uint64_t seed) {
  return {by_batch(seed),
          by_filter(seed),
          by_rules(RuleFields::openflow, seed),
          by_rules(RuleFields::ipv4, seed),
          by_classes(1024, seed),
          by_classes(8192, seed),
          by_classes(32'768, seed),
          by_classes_that_are("full", &RuleGeneratorOptions::full_classes, seed),
          by_classes_that_are("matching", &RuleGeneratorOptions::matching_classes, seed),
          by_fields(seed)};
}

/// A structure that has to show something at this place.
bool has_turn(const RuleStructure& structure, const Sweep& sweep, const Setting& setting) {
  if (sweep.is_of_filters) return structure.name == "bloom";
  return structure.name != "linear" || setting.rules.rules <= kLinearRules;
}

std::unique_ptr<RuleTable> create(const RuleStructure& structure, const Setting& setting, GracePeriods& grace_periods) {
  if (!setting.filter_bits) return structure.create(setting.rules.fields, setting.rules.seed, grace_periods);
  return std::make_unique<TupleRules>(TupleRules::Search::bloom, setting.rules.fields, setting.rules.seed,
                                      grace_periods, RuleRecords::kNever - 1, setting.filter_bits);
}

/// At 128 K rules in 512 classes gopt is to gain something.
void show_gain(const Sweep& sweep, const Setting& setting, std::span<const Series> series, Report& report) {
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

void measure(const Sweep& sweep, const Setting& setting, const Options& options, Report& report) {
  const std::string place = fmt::format("{}: {:g} {}", sweep.title, setting.at, sweep.axis);
  const RuleTask task = make_rule_task(place, setting.rules, kKnobHeaders);
  NoReaders no_readers;
  std::vector<std::unique_ptr<FilledRuleTable>> tables;
  std::vector<RuleClassifier> classifiers;
  for (const RuleStructure& structure : rule_structures()) {
    if (!has_turn(structure, sweep, setting)) continue;
    FilledRuleTable& table = *tables.emplace_back(
        std::make_unique<FilledRuleTable>(structure.name, create(structure, setting, no_readers), task));
    std::vector<RuleClassifier> on_engines;
    for (const EngineInfo* info : engines_here()) table.add_classifier(info->name, on_engines);
    const bool is_slow = structure.name == "linear";
    check_classifiers(task, on_engines, std::array{setting.batch},
                      is_slow ? std::max<std::size_t>(kCheckedLinearly / task.rules.size(), 64) : kKnobHeaders);
    std::ranges::move(on_engines, std::back_inserter(classifiers));
  }
  std::vector<Contender> turns;
  turns.reserve(classifiers.size());
  for (const RuleClassifier& classifier : classifiers) turns.push_back(classifying(task, classifier, setting.batch));
  const auto series = interleave(turns, options.rounds);
  report.compare(place, "M headers/s/core", series, classifier_name("scalar", tables.back()->structure()),
                 {.plot = {.measurement = "E13", .title = sweep.title, .x = sweep.axis}, .at = setting.at});
  show_gain(sweep, setting, series, report);
}

void run_knobs(const Options& options, Report& report) {
  pin_to_first_core();
  const auto sweeps = sweeps_of(options.seed);
  report.input("rules", fmt::format("generated, of 12 fields unless a plot says 5, one class matches a header unless a "
                                    "plot says more, seed {}",
                                    options.seed));
  report.input("headers",
               fmt::format("{}, each drawn from a rule, in random order; in batches of {} unless a plot says "
                           "otherwise",
                           kKnobHeaders, kKnobBatch));
  std::size_t places = 0;
  for (const Sweep& sweep : sweeps) {
    for (const Setting& setting : sweep.settings) measure(sweep, setting, options, report);
    places += sweep.settings.size();
  }
  report.checked(
      fmt::format("{} rule sets: each structure on each engine against linear search, for as many headers as "
                  "that has time for, and the engines against each other",
                  places));
}

[[maybe_unused]] const bool kKnobsBenchmark =
    register_benchmark({.name = "classify-knobs",
                        .measurement = "E13",
                        .measures = "classification by batch, Bloom filter, rules, classes and fields (GSwitch, 5-9)",
                        .needs = "2 GB of memory",
                        .cost = {95, 10},
                        .run = &run_knobs});

}  // namespace
}  // namespace penumbra::bench
