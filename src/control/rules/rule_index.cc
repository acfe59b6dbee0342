// SPDX-License-Identifier: Apache-2.0
#include "control/rules/rule_index.h"

#include <algorithm>
#include <map>

#include "base/random.h"

namespace penumbra::control::rules {
namespace {

std::uint64_t hash_under(const RuleWords& key, const RuleWords& mask) {
  std::uint64_t hash = 0;
  for (std::size_t word = 0; word < kRuleWords; ++word) hash = Random::mixed(hash + (key[word] & mask[word]));
  return hash;
}

}  // namespace

RuleIndex::RuleIndex(RuleFields fields, std::span<const Rule> rules) : fields_(fields) {
  std::map<RuleWords, std::size_t> numbers;
  for (const Rule& rule : rules) {
    const auto [entry, added] = numbers.emplace(rule.match.mask, classes_.size());
    if (added) classes_.push_back({.mask = rule.match.mask, .matches = {}});
    classes_[entry->second].matches.emplace(hash_under(rule.match.value, rule.match.mask), &rule.match);
  }
}

bool RuleIndex::any(const RuleWords& key) const {
  return std::ranges::any_of(classes_, [&](const Class& each) {
    const auto [begin, end] = each.matches.equal_range(hash_under(key, each.mask));
    return std::any_of(begin, end, [&](const auto& entry) { return matches(*entry.second, fields_, key); });
  });
}

}  // namespace penumbra::control::rules
