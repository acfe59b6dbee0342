// SPDX-License-Identifier: Apache-2.0
#include "functions/rule_list/structure.h"

#include <nlohmann/json.hpp>

#include "tables/rules/rule_structures.h"

namespace penumbra::rule_list {

Structure::Structure(const ConfigNode& config) {
  std::vector<std::string> words{"auto"};
  for (const RuleStructure& structure : rule_structures()) words.push_back(structure.name);
  name_ = config.get("shader").one_of(words);
  is_chosen_ = name_ == words.front();
}

void Structure::choose(RuleFields fields, std::span<const Rule> rules, std::uint64_t seed) {
  costs_ = measure_rule_structures(fields, rules, seed);
  name_ = costs_.front().structure;
}

void Structure::require_same(const Structure& other, const ConfigNode& config) const {
  if (other.is_chosen_ || other.name_ == name_) return;
  throw config.get("shader").error("another shader than '" + name_ + "' takes a restart");
}

nlohmann::ordered_json Structure::show(std::size_t entries, std::size_t memory_bytes) const {
  nlohmann::ordered_json shown{{"structure", name_},
                               {"why", !is_chosen_      ? "the configuration"
                                       : costs_.empty() ? "the default for these fields"
                                                        : "the fastest when the list was loaded"},
                               {"entries", entries},
                               {"memory_bytes", memory_bytes}};
  for (const RuleStructureCost& cost : costs_) {
    shown["measured"][cost.structure] = {{"ns_per_packet", cost.ns_per_key}, {"memory_bytes", cost.memory_bytes}};
  }
  return shown;
}

}  // namespace penumbra::rule_list
