// SPDX-License-Identifier: Apache-2.0
//
// The list of rules: its user adds and removes rules one by one, commit() makes the changes effective, and find()
// returns a rule by number. The list feeds the tables that shaders search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penumbra/rule.h"
#include "penumbra/table.h"
#include "tables/rules/rule_numbers.h"
#include "tables/rules/rule_table.h"

namespace penumbra {

/// Up to kMostRules rules. One thread uses the set. The tables must outlive the set. A change that throws leaves the
/// content as it was.
class RuleSet {
 public:
  /// `grace_periods` must outlive the set.
  RuleSet(RuleFields fields, GracePeriods& grace_periods);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  RuleFields fields() const { return fields_; }
  /// Adds the current rules to a table of the same fields, and all later changes.
  void feed(RuleTable& table);

  /// Adds a rule and returns its number, which lookups return. Throws std::length_error if there are kMostRules rules
  /// (including those removed since the last commit), or if a table is full. May wait for grace periods if nearly all
  /// numbers are in use.
  std::uint32_t add(const Rule& rule);
  /// Adds a match with a rank in place of a priority. Of the matching rules, the highest rank wins, whatever the order
  /// of insertion. Ranks are unique and never 0. Do not mix it with add().
  std::uint32_t add_ranked(const RuleMatch& match, std::uint64_t rank);
  /// Removes a rule. The rule's number is reused when no reader can hold it any more. Throws std::invalid_argument if
  /// no rule has the number.
  void remove(std::uint32_t number);
  /// Makes all changes since the last commit effective at once.
  void commit();

  /// Returns the normalised rule of a number, or null.
  const Rule* find(std::uint32_t number) const;
  /// Returns the number of the winning rule by linear search, or 0 if none matches.
  std::uint32_t best(const RuleWords& key) const;
  /// Calls visit(number, rule) for each rule, in the order of numbers.
  template <class Visit>
  void for_each(Visit visit) const;

  std::size_t size() const { return size_; }

 private:
  struct Entry {
    Rule rule;
    std::uint64_t rank = 0;  ///< 0: no rule
  };

  std::uint64_t next_rank(std::uint16_t priority) const;
  std::uint32_t put(const Rule& rule, std::uint64_t rank);

  const RuleFields fields_;
  std::vector<RuleTable*> tables_;
  std::vector<Entry> entries_{1};  ///< by number
  std::size_t size_ = 0;
  std::uint64_t added_ = 0;  ///< number of rules ever added, including those that a table refused
  RuleNumbers numbers_;
};

template <class Visit>
void RuleSet::for_each(Visit visit) const {
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    if (entries_[number].rank != 0) visit(number, entries_[number].rule);
  }
}

}  // namespace penumbra
