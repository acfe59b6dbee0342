// SPDX-License-Identifier: Apache-2.0
#include "functions/rule_list/rules.h"

#include "tables/rules/rule_structures.h"

namespace penumbra::rule_list {

TableRules::TableRules(RuleFields fields, const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods)
    : table_(make_rule_table(structure, fields, seed, grace_periods)), rules_(fields, grace_periods) {
  rules_.feed(*table_);
}

SparseRules::SparseRules(const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods)
    : table_(structure == "tuple" ? TupleRules::Search::tuple : TupleRules::Search::bloom, TupleRules::Sparse{}, seed,
             grace_periods),
      numbers_(grace_periods) {}

std::uint32_t SparseRules::add(const SparseMatch& match, std::uint64_t rank) {
  const std::uint32_t number = numbers_.take();
  try {
    table_.insert(number, match, rank);
  } catch (...) {
    numbers_.give_back(number);
    throw;
  }
  return number;
}

void SparseRules::remove(std::uint32_t number) {
  table_.remove(number);
  numbers_.give_back(number);
}

void SparseRules::commit() {
  table_.commit();
  numbers_.commit();
}

}  // namespace penumbra::rule_list
