// SPDX-License-Identifier: Apache-2.0
//
// Properties of rules that figures 5 to 9 of M. Varvello et al. vary one at a time: Multilayer Packet Classification
// with Graphics Processing Units (IEEE/ACM ToN 2016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/rules/rule_generator.h"
#include "penumbra/table.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::bench {

/// A point of a plot: rules, and how they are searched.
struct KnobSetting {
  double at = 0;
  control::rules::RuleGeneratorOptions rules;
  std::optional<std::size_t> batch = std::nullopt;  ///< Batch size instead of the usual one.
  std::optional<std::uint32_t> filter_bits =
      std::nullopt;  ///< Bits per rule of `bloom` filters, instead of its own choice.
};

/// A plot in which one property varies.
struct KnobSweep {
  std::string title, axis;
  std::vector<KnobSetting> settings;
  bool is_of_filters = false;  ///< True if it concerns only `bloom`.
};

/// The paper's figures, or also the number of rules with 5 fields.
enum class Knobs : std::uint8_t { papers, all };
std::vector<KnobSweep> knob_sweeps(Knobs knobs, std::uint64_t seed);

/// Describes the rules for a report.
std::string knob_rules_in_words(std::uint64_t seed);

/// True if the structure takes part at this point.
bool has_turn(const RuleStructure& structure, const KnobSweep& sweep, const KnobSetting& setting);

/// Makes an empty table of the structure for the setting.
std::unique_ptr<RuleTable> make_table(const RuleStructure& structure, const KnobSetting& setting,
                                      GracePeriods& grace_periods);

}  // namespace penumbra::bench
