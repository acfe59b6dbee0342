// SPDX-License-Identifier: Apache-2.0
#include "rule_knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra::bench {
namespace {

using control::rules::RuleGeneratorOptions;

constexpr std::uint32_t kLinearRules = 8192;  ///< Limit for linear search, whose time per header grows with the rules.

RuleGeneratorOptions rules_of(std::uint32_t rules, std::uint32_t classes, std::uint64_t seed) {
  return {.rules = rules, .classes = classes, .full_classes = classes, .seed = seed};
}

/// Figure 5 of the paper.
KnobSweep by_batch(std::uint64_t seed) {
  KnobSweep sweep{.title = "rate by batch, 1024 rules in 128 classes", .axis = "batch", .settings = {}};
  for (const std::size_t batch : {32, 64, 128, 256, 1024, 4096, 16'384}) {
    sweep.settings.push_back({.at = static_cast<double>(batch), .rules = rules_of(1024, 128, seed), .batch = batch});
  }
  return sweep;
}

KnobSweep by_filter(std::uint64_t seed) {
  KnobSweep sweep{.title = "rate by Bloom filter, 32 K rules in 128 classes",
                  .axis = "bits a rule",
                  .settings = {},
                  .is_of_filters = true};
  for (const std::uint32_t bits : {2, 4, 8, 16, 32, 64}) {
    sweep.settings.push_back(
        {.at = static_cast<double>(bits), .rules = rules_of(32'768, 128, seed), .filter_bits = bits});
  }
  return sweep;
}

/// Figure 7 of the paper: 256 rules per subtable.
KnobSweep by_rules(RuleFields fields, std::uint64_t seed) {
  KnobSweep sweep{
      .title = fmt::format("rate by rules, 256 a class, {} fields", fields == RuleFields::openflow ? 12 : 5),
      .axis = "rules",
      .settings = {}};
  for (const std::uint32_t classes : {1, 4, 16, 64, 256, 512, 1024}) {
    KnobSetting setting{.at = classes * 256.0, .rules = rules_of(classes * 256, classes, seed)};
    setting.rules.fields = fields;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

/// Figure 8 of the paper.
KnobSweep by_classes(std::uint32_t rules, std::uint64_t seed) {
  KnobSweep sweep{.title = fmt::format("rate by classes, {} K rules", rules / 1024), .axis = "classes", .settings = {}};
  constexpr std::uint32_t kMost = 1024;
  for (std::uint32_t classes = std::max<std::uint32_t>(rules / 256, 4);; classes = std::min(classes * 4, kMost)) {
    sweep.settings.push_back({.at = static_cast<double>(classes), .rules = rules_of(rules, classes, seed)});
    if (classes == kMost) break;
  }
  return sweep;
}

/// Figure 9 of the paper: varies how many subtables are of some kind.
KnobSweep by_classes_that_are(const std::string& kind, std::uint32_t RuleGeneratorOptions::* knob, std::uint64_t seed) {
  KnobSweep sweep{.title = fmt::format("rate by {} classes, 1024 rules in 128 classes", kind),
                  .axis = kind + " classes",
                  .settings = {}};
  for (const std::uint32_t classes : {1, 4, 16, 64, 128}) {
    KnobSetting setting{.at = static_cast<double>(classes), .rules = rules_of(1024, 128, seed)};
    setting.rules.*knob = classes;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

KnobSweep by_fields(std::uint64_t seed) {
  KnobSweep sweep{.title = "rate by fields, 1024 rules in 128 classes", .axis = "fields", .settings = {}};
  for (const double fields : {5, 12}) {
    KnobSetting setting{.at = fields, .rules = rules_of(1024, 128, seed)};
    if (fields < 12) setting.rules.fields = RuleFields::ipv4;
    sweep.settings.push_back(setting);
  }
  return sweep;
}

}  // namespace

std::vector<KnobSweep> knob_sweeps(Knobs knobs, std::uint64_t seed) {
  std::vector<KnobSweep> sweeps{by_batch(seed),
                                by_filter(seed),
                                by_rules(RuleFields::openflow, seed),
                                by_classes(1024, seed),
                                by_classes(8192, seed),
                                by_classes(32'768, seed),
                                by_classes_that_are("full", &RuleGeneratorOptions::full_classes, seed),
                                by_classes_that_are("matching", &RuleGeneratorOptions::matching_classes, seed),
                                by_fields(seed)};
  if (knobs == Knobs::all) sweeps.push_back(by_rules(RuleFields::ipv4, seed));
  return sweeps;
}

std::string knob_rules_in_words(std::uint64_t seed) {
  return fmt::format(
      "generated, of 12 fields unless a plot says 5, one class matches a header unless a plot says more, seed {}",
      seed);
}

bool has_turn(const RuleStructure& structure, const KnobSweep& sweep, const KnobSetting& setting) {
  if (sweep.is_of_filters) return structure.name == "bloom";
  return structure.name != "linear" || setting.rules.rules <= kLinearRules;
}

std::unique_ptr<RuleTable> make_table(const RuleStructure& structure, const KnobSetting& setting,
                                      GracePeriods& grace_periods) {
  if (!setting.filter_bits) return structure.create(setting.rules.fields, setting.rules.seed, grace_periods);
  return std::make_unique<TupleRules>(TupleRules::Search::bloom, setting.rules.fields, setting.rules.seed,
                                      grace_periods, RuleRecords::kNever - 1, setting.filter_bits);
}

}  // namespace penumbra::bench
