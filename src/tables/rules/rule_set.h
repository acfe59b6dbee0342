// SPDX-License-Identifier: Apache-2.0
//
// The rules as whoever makes them knows them: added and taken out one by one, in force with commit(), kept by number
// for whoever shows them, and fed to the tables that are searched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "penumbra/rule.h"
#include "penumbra/table.h"
#include "tables/rules/grace_list.h"
#include "tables/rules/rule_table.h"

namespace penumbra {

/// Up to kMostRules rules. One thread uses it; the tables outlive it. A change that throws has changed nothing.
class RuleSet {
 public:
  /// `grace_periods` outlives it.
  RuleSet(RuleFields fields, GracePeriods& grace_periods);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  RuleFields fields() const { return fields_; }
  /// From now on this table, of the same fields, has these rules: at once those that are here.
  void feed(RuleTable& table);

  /// Adds a rule and returns its number, by which answers of lookups name it. Throws std::length_error if there are
  /// kMostRules, with those taken out since the last commit, or if a table has no place for it. May wait for grace
  /// periods if there are nearly as many.
  std::uint32_t add(const Rule& rule);
  /// Adds a match with a rank in place of a priority: of those that match the highest wins, whatever was added first.
  /// It is never 0, and no two are alike. For who does not mix it with add().
  std::uint32_t add_ranked(const RuleMatch& match, std::uint64_t rank);
  /// Takes out a rule. Its number is given to another one when no reader can hold it any more. Throws
  /// std::invalid_argument if there is none of that number.
  void remove(std::uint32_t number);
  /// The changes since the last commit take effect, together.
  void commit();

  /// The rule of that number, normalised; null if there is none.
  const Rule* find(std::uint32_t number) const;
  /// The number of the rule that wins, by trying all of them; 0 if none matches.
  std::uint32_t best(const RuleWords& key) const;
  /// Calls visit(number, rule) for each, by number.
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
  std::uint32_t take_number();
  void rest(bool wait);

  const RuleFields fields_;
  std::vector<RuleTable*> tables_;
  std::vector<Entry> entries_{1};  ///< by number
  std::size_t size_ = 0;
  std::uint64_t added_ = 0;                     ///< ever, with those that no table had a place for
  std::vector<std::uint32_t> free_;             ///< numbers that were taken out long ago
  std::vector<std::uint32_t> going_;            ///< since the last commit
  GraceList<std::uint32_t> removed_, resting_;  ///< a table frees a number after two grace periods
};

template <class Visit>
void RuleSet::for_each(Visit visit) const {
  for (std::uint32_t number = 1; number < entries_.size(); ++number) {
    if (entries_[number].rank != 0) visit(number, entries_[number].rule);
  }
}

}  // namespace penumbra
