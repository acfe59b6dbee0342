// SPDX-License-Identifier: Apache-2.0
//
// Which structure a list of rules is searched in, and why.
#pragma once

#include <cstdint>
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
  /// What `shader:` of a function's configuration says: a name, or, if it is `auto` or left out, that choose() is to
  /// find one. Throws InputError.
  explicit Structure(const ConfigNode& config);

  /// Takes the fastest one with these entries, if none was named. Throws std::length_error if none has place for them.
  template <class Entry>
  void choose(RuleFields fields, std::span<const Entry> entries, std::uint64_t seed) {
    if (!is_chosen_) return;
    std::vector<Rule> rules;
    rules.reserve(entries.size());
    for (const Entry& entry : entries) rules.push_back({.match = entry.match, .priority = 0});
    choose(fields, std::span<const Rule>(rules), seed);
  }

  const std::string& name() const { return name_; }
  /// Throws InputError if the other one, of `config`, names another structure: that takes a restart.
  void require_same(const Structure& other, const ConfigNode& config) const;
  /// For `show`: a list of so many entries, in so much memory.
  nlohmann::ordered_json show(std::size_t entries, std::size_t memory_bytes) const;

 private:
  void choose(RuleFields fields, std::span<const Rule> rules, std::uint64_t seed);

  std::string name_;
  bool is_chosen_ = false;
  std::vector<RuleStructureCost> costs_;  ///< none if nothing was chosen
};

}  // namespace penumbra::rule_list
