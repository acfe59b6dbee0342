// SPDX-License-Identifier: Apache-2.0
#include "tables/rules/rule_set.h"

#include <stdexcept>
#include <string>

namespace penumbra {

RuleSet::RuleSet(RuleFields fields, GracePeriods& grace_periods) : fields_(fields), numbers_(grace_periods) {}

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
  const std::uint32_t number = numbers_.take();
  if (number >= entries_.size()) entries_.resize(number + std::size_t{1});
  ++added_;
  std::size_t fed = 0;
  try {
    for (; fed < tables_.size(); ++fed) tables_[fed]->insert(number, normal.match, rank);
  } catch (...) {
    while (fed-- > 0) tables_[fed]->remove(number);
    numbers_.give_back(number);
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
  numbers_.give_back(number);
}

void RuleSet::commit() {
  for (RuleTable* table : tables_) table->commit();
  numbers_.commit();
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

}  // namespace penumbra
