// SPDX-License-Identifier: Apache-2.0
//
// Selects the structure that searches a list of rules.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "penumbra/config_node.h"
#include "penumbra/rule.h"
#include "tables/rules/rule_choice.h"

namespace penumbra::rule_list {

class Structure {
 public:
  /// Reads the key `shader` of a function's configuration: the name of a structure, or `auto`. If `auto` is set or the
  /// key is missing, choose() selects the structure. Throws InputError.
  explicit Structure(const ConfigNode& config);

  /// Selects the fastest structure for these entries, unless the configuration names one. `match_of(entry)` is the
  /// match of an entry in the layout of `fields`. Throws std::length_error if no structure can hold the entries.
  template <class Entry, class MatchOf>
  void choose(RuleFields fields, std::span<const Entry> entries, std::uint64_t seed, MatchOf match_of) {
    if (!is_chosen_) return;
    std::vector<Rule> rules;
    rules.reserve(entries.size());
    for (const Entry& entry : entries) rules.push_back({.match = std::invoke(match_of, entry), .priority = 0});
    choose(fields, std::span<const Rule>(rules), seed);
  }
  /// Selects a structure, unless the configuration names one.
  void choose(const std::string& structure) {
    if (is_chosen_) name_ = structure;
  }

  const std::string& name() const { return name_; }
  /// Throws InputError if `other`, which was read from `config`, names another structure, because a change takes a
  /// restart.
  void require_same(const Structure& other, const ConfigNode& config) const;
  /// Returns the JSON for `show`, given the number of entries and the memory of the list.
  nlohmann::ordered_json show(std::size_t entries, std::size_t memory_bytes) const;

 private:
  void choose(RuleFields fields, std::span<const Rule> rules, std::uint64_t seed);

  std::string name_;
  bool is_chosen_ = false;
  std::vector<RuleStructureCost> costs_;  ///< empty if the configuration names a structure
};

}  // namespace penumbra::rule_list
