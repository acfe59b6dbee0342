// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_set.h"

#include <stdexcept>
#include <string>

namespace penumbra {

RuleSet::RuleSet(RuleFields fields, GracePeriods& grace_periods)
    : fields_(fields), removed_(grace_periods), resting_(grace_periods) {}

void RuleSet::feed(RuleTable& table) {
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    if (entries_[number].rank != 0) table.insert(number, entries_[number].rule.match, entries_[number].rank);
  }
  table.commit();
  tables_.push_back(&table);
}

std::uint32_t RuleSet::add(const Rule& rule) {
  const std::uint32_t number = put(rule, next_rank(rule.priority));
  ++added_;
  return number;
}

std::uint32_t RuleSet::add_ranked(const RuleMatch& match, std::uint64_t rank) {
  return put({.match = match, .priority = 0}, rank);
}

std::uint32_t RuleSet::put(const Rule& rule, std::uint64_t rank) {
  const Rule normal{normalised(rule.match, fields_), rule.priority};
  const std::uint32_t number = take_number();
  ++added_;
  std::size_t fed = 0;
  try {
    for (; fed < tables_.size(); ++fed) tables_[fed]->insert(number, normal.match, rank);
  } catch (...) {
    while (fed-- > 0) tables_[fed]->remove(number);
    going_.push_back(number);
    throw;
  }
  entries_[number] = {normal, rank};
  ++size_;
  return number;
}

void RuleSet::remove(std::uint32_t number) {
  if (find(number) == nullptr) throw std::invalid_argument("there is no rule " + std::to_string(number));
  for (RuleTable* table : tables_) table->remove(number);
  entries_[number] = {};
  --size_;
  going_.push_back(number);
}

void RuleSet::commit() {
  for (RuleTable* table : tables_) table->commit();
  for (const std::uint32_t number : going_) removed_.add(number);
  going_.clear();
  rest(false);
}

const Rule* RuleSet::find(std::uint32_t number) const {
  return number < entries_.size() && entries_[number].rank != 0 ? &entries_[number].rule : nullptr;
}

std::uint32_t RuleSet::best(const RuleWords& key) const {
  std::uint32_t best = 0;
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    if (entry.rank > entries_[best].rank && matches(entry.rule.match, fields_, key)) best = number;
  }
  return best;
}

/// Returns the rank of the next rule. Of equal priorities, the earlier rule ranks higher.
std::uint64_t RuleSet::next_rank(std::uint16_t priority) const {
  constexpr unsigned kAddedBits = 48;
  return std::uint64_t{priority} << kAddedBits | ((std::uint64_t{1} << kAddedBits) - 1 - added_);
}

std::uint32_t RuleSet::take_number() {
  if (free_.empty() && entries_.size() > kMostRules) rest(true);
  if (!free_.empty()) {
    const std::uint32_t number = free_.back();
    free_.pop_back();
    return number;
  }
  if (entries_.size() > kMostRules) {
    throw std::length_error("there are " + std::to_string(kMostRules) + " rules, and no place for more");
  }
  entries_.emplace_back();
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

void RuleSet::rest(bool wait) {
  const auto free = [this](std::uint32_t number) { free_.push_back(number); };
  resting_.take(free);
  removed_.take([this](std::uint32_t number) { resting_.add(number); }, wait);
  resting_.take(free, wait);
}

}  // namespace penumbra
