// SPDX-License-Identifier: Apache-2.0
//
// Rule sets of any size and shape for benchmarks and tests, by the knobs of M. Varvello, R. Laufer, F. Zhang,
// T. Lakshman: Multilayer Packet Classification with Graphics Processing Units (IEEE/ACM ToN 2016), section VII. The
// same options give the same rules on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra::control::rules {

struct RuleGeneratorOptions {
  static constexpr std::uint32_t kMostClasses = 16'384;

  RuleFields fields = RuleFields::openflow;
  std::uint32_t rules = 1024;          ///< N, 1 to kMostRules, and not fewer than classes
  std::uint32_t classes = 128;         ///< C: rules with one mask are a class
  std::uint32_t full_classes = 128;    ///< F of them share all rules but one for each other class, as evenly as can be
  std::uint32_t matching_classes = 1;  ///< Cm: so many classes match a header
  std::uint64_t seed = 1;
};

struct GeneratedRules {
  /// In an order that says nothing. Of 5-tuples all priorities are 0, as the earlier rule wins; of OpenFlow they are
  /// random. The syntaxes of texts can say all of them.
  std::vector<Rule> rules;
  /// Where so many rules meet: every header inside one of these is matched by exactly `matching_classes` rules, each of
  /// another class. Of a single matching class they are the rules themselves.
  std::vector<RuleMatch> overlaps;
};

/// Makes rules. A mask leaves out whole fields, or takes prefixes of addresses and ports; of OpenFlow it takes a field
/// only with those that it needs (flow_syntax.h). Classes are put together in groups of `matching_classes`, the largest
/// first; rules of different groups never match one header. If C is no multiple of Cm the last group is smaller and
/// has no overlaps; if classes of one group differ in size some rules are in none. Throws std::invalid_argument for
/// options out of range, or if there are not so many masks.
GeneratedRules generate_rules(const RuleGeneratorOptions& options);

}  // namespace penumbra::control::rules
