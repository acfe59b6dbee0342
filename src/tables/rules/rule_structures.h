// SPDX-License-Identifier: Apache-2.0
//
// The structures for searching rules, by name: `linear`, `tuple` and other registered structures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penumbra/table.h"
#include "tables/rules/rule_table.h"

namespace penumbra {

/// The description of a structure.
struct RuleStructure {
  std::string name;
  std::string summary;  ///< one line for users
  /// Makes and publishes an empty table for rules of `fields`. A secret seed prevents attackers from choosing keys that
  /// collide. `grace_periods` must outlive the table.
  std::unique_ptr<RuleTable> (*create)(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods) = nullptr;
};

/// Registers a structure; for a namespace-scope constant in the structure's own folder. Returns true.
bool register_rule_structure(RuleStructure structure);
/// Returns every structure of this build, by name.
const std::vector<RuleStructure>& rule_structures();
/// Returns an empty table of the named structure. Throws std::invalid_argument for an unknown name.
std::unique_ptr<RuleTable> make_rule_table(const std::string& structure, RuleFields fields, std::uint64_t seed,
                                           GracePeriods& grace_periods);

}  // namespace penumbra
