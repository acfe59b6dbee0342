// SPDX-License-Identifier: Apache-2.0
//
// Chooses a structure for a set of rules by measurement. The best structure depends on the number of masks, the overlap
// of the rules, and the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "penumbra/rule.h"

namespace penumbra {

/// The cost of a structure for some rules.
struct RuleStructureCost {
  std::string structure;
  double ns_per_key = 0;
  std::size_t memory_bytes = 0;
};

/// Fills a table of each structure with the rules and classifies matching headers. Uses the best engine of this core
/// and batches of a router's size. Returns the costs, fastest structure first. Skips linear search for more than a few
/// thousand rules, because it would be slowest. Takes milliseconds per structure plus the time to fill the table, which
/// is seconds for a million rules. Throws std::length_error if the rules fit into no structure.
std::vector<RuleStructureCost> measure_rule_structures(RuleFields fields, std::span<const Rule> rules,
                                                       std::uint64_t seed);

}  // namespace penumbra
