// SPDX-License-Identifier: Apache-2.0
//
// The knobs of rules that figures 5 to 9 of M. Varvello et al. turn one at a time: Multilayer Packet Classification
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

/// A place in a plot: rules, and how they are searched.
struct KnobSetting {
  double at = 0;
  control::rules::RuleGeneratorOptions rules;
  std::optional<std::size_t> batch = std::nullopt;          ///< in place of what is usual
  std::optional<std::uint32_t> filter_bits = std::nullopt;  ///< a rule, of `bloom`, in place of its own choice
};

/// One knob turned: a plot.
struct KnobSweep {
  std::string title, axis;
  std::vector<KnobSetting> settings;
  bool is_of_filters = false;  ///< `bloom` alone
};

/// The paper's figures, or with them the number of rules of 5 fields too.
enum class Knobs : std::uint8_t { papers, all };
std::vector<KnobSweep> knob_sweeps(Knobs knobs, std::uint64_t seed);

/// What the rules are, for a report.
std::string knob_rules_in_words(std::uint64_t seed);

/// Whether a structure has to show something at this place.
bool has_turn(const RuleStructure& structure, const KnobSweep& sweep, const KnobSetting& setting);

/// A structure's table, empty, as the setting wants it.
std::unique_ptr<RuleTable> make_table(const RuleStructure& structure, const KnobSetting& setting,
                                      GracePeriods& grace_periods);

}  // namespace penumbra::bench
