// SPDX-License-Identifier: Apache-2.0
//
// Generates rule sets of any size and shape, for benchmarks and tests. The parameters are those of M. Varvello, R.
// Laufer, F. Zhang, T. Lakshman: Multilayer Packet Classification with Graphics Processing Units (IEEE/ACM ToN 2016),
// section VII. The same options give the same rules on every machine. A subtable is a set of rules with the same mask
// ("class" in the paper).
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

struct RuleGeneratorOptions {
  static constexpr std::uint32_t kMostClasses = 16'384;

  RuleFields fields = RuleFields::openflow;
  std::uint32_t rules = 1024;          ///< N, 1 to kMostRules and at least the number of subtables.
  std::uint32_t classes = 128;         ///< C, the number of subtables.
  std::uint32_t full_classes = 128;    ///< F subtables share the rules evenly; each other subtable has one rule.
  std::uint32_t matching_classes = 1;  ///< Cm, the number of subtables that match a header.
  std::uint64_t seed = 1;
};

struct GeneratedRules {
  /// The rules are in random order. 5-tuples all have priority 0, as the earlier rule wins; OpenFlow rules have random
  /// priorities. The text syntaxes can express all rules.
  std::vector<Rule> rules;
  /// Every header inside an overlap matches exactly `matching_classes` rules of different subtables. With one matching
  /// subtable the overlaps are the rules themselves.
  std::vector<RuleMatch> overlaps;
};

/// Generates rules. A mask omits whole fields, or has prefixes of addresses and ports. An OpenFlow mask has a field
/// only together with its prerequisites (flow_syntax.h).
///
/// Subtables form groups of `matching_classes`, the largest first. Rules of different groups never match the same
/// header. If C is no multiple of Cm, the last group is smaller and has no overlaps. If subtables of a group differ in
/// size, some rules have no overlap.
///
/// Throws std::invalid_argument for options out of range, or if there are too few masks.
GeneratedRules generate_rules(const RuleGeneratorOptions& options);

}  // namespace penumbra::control::rules
