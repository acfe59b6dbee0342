// SPDX-License-Identifier: Apache-2.0
//
// The structures that rules can be searched in, by name: `linear`, `tuple` and whatever else registers itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penumbra/table.h"
#include "tables/rules/rule_table.h"

namespace penumbra {

/// How a structure presents itself.
struct RuleStructure {
  std::string name;
  std::string summary;  ///< for people, a line
  /// An empty table, published, for rules of these fields. With a seed that nobody knows, nobody can choose keys that
  /// meet in it. `grace_periods` outlives it.
  std::unique_ptr<RuleTable> (*create)(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods) = nullptr;
};

/// Adds a structure to the list; for a namespace-scope constant in the structure's own folder. Returns true.
bool register_rule_structure(RuleStructure structure);
/// Every structure of this build, by name.
const std::vector<RuleStructure>& rule_structures();
/// An empty table of the structure of that name. Throws std::invalid_argument for an unknown one.
std::unique_ptr<RuleTable> make_rule_table(const std::string& structure, RuleFields fields, std::uint64_t seed,
                                           GracePeriods& grace_periods);

}  // namespace penumbra
