// SPDX-License-Identifier: Apache-2.0
//
// Which structure suits a set of rules: found by trying, for it depends on how many masks there are, how much the rules
// overlap, and on the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra {

/// What a structure costs with some rules.
struct RuleStructureCost {
  std::string structure;
  double ns_per_key = 0;
  std::size_t memory_bytes = 0;
};

/// Fills a table of each structure with the rules and classifies headers that they match, on the best engine of this
/// core, in batches as a router has them. The fastest comes first. Linear search is left out where there are more rules
/// than a few thousand: it would take long to find that it is the slowest. Takes milliseconds for each structure and
/// the time to fill it, seconds for a million rules. Throws std::length_error if no structure has place for so many.
std::vector<RuleStructureCost> measure_rule_structures(RuleFields fields, std::span<const Rule> rules,
                                                       std::uint64_t seed);

}  // namespace penumbra
