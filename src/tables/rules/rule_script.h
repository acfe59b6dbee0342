// SPDX-License-Identifier: Apache-2.0
//
// Scripts of changes to rules while readers look up keys (tables/churn_readers.h), for tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "tables/churn_readers.h"
#include "tables/rules/rules_testing.h"

namespace penumbra::rules_testing {

/// Rules with numbers, the commits that replace them, and the right answer of each key after each commit.
class RuleScript {
 public:
  static constexpr std::size_t kThere = 300;      ///< approximate number of rules
  static constexpr std::uint32_t kNumbers = 900;  ///< so few that some reused numbers must wait for a grace period

  RuleScript(RuleFields fields, std::size_t commits)
      : fields_(fields),
        source_({.fields = fields, .masks = 60, .values = 2, .priorities = 4, .ranged = 3, .any_bits = false}, 11) {
    // The numbers are far apart, so that tables grow during lookups.
    for (std::uint32_t i = 1; i <= kNumbers; ++i) free_.push_back(i * 7);
    for (int i = 0; i < 60; ++i) keys_.push_back(source_.key());
    answers_.assign(keys_.size(), {{0, RULES_NONE}});
    for (std::size_t i = 0; i < commits; ++i) add_commit();
  }

  std::size_t size() const { return commits_.size(); }
  const std::vector<RuleWords>& keys() const { return keys_; }
  const std::vector<churn::AnswersOf<std::uint32_t>>& answers() const { return answers_; }
  void apply(std::size_t commit, RuleTable& table) const {
    for (const Change& change : commits_[commit]) {
      if (change.rank == 0) {
        table.remove(change.number);
      } else {
        table.insert(change.number, change.match, change.rank);
      }
    }
    table.commit();
  }

 private:
  struct Change {
    std::uint32_t number = 0;
    std::uint64_t rank = 0;  ///< 0 removes the rule
    RuleMatch match;
  };

  void add_commit() {
    std::vector<Change>& changes = commits_.emplace_back();
    const std::size_t exchanged = 1 + source_.random().below(6);
    std::vector<std::uint32_t> gone;
    for (std::size_t i = 0; i < exchanged && there_.size() > kThere; ++i) {
      // Prefers a rule that wins for some key: a reader must not see its removal without the new rule.
      const std::uint32_t winner = winner_of(source_.random().below(static_cast<std::uint32_t>(keys_.size())));
      const auto any = std::ranges::find(there_, winner, &Change::number);
      const auto going = any != there_.end() ? any : there_.begin();
      gone.push_back(going->number);
      changes.push_back({going->number, 0, {}});
      there_.erase(going);
    }
    for (std::size_t i = 0; i < exchanged + 1 && there_.size() <= kThere + 4; ++i) {
      const Rule rule = source_.rule();
      Change& change = there_.emplace_back();
      change = {free_.front(), std::uint64_t{rule.priority} << 48 | (0xFFFFFFFFFFFF - ++added_), rule.match};
      free_.pop_front();
      changes.push_back(change);
    }
    for (const std::uint32_t number : gone) free_.push_back(number);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const std::uint32_t winner = winner_of(i);
      if (answers_[i].back().second != winner) answers_[i].emplace_back(commits_.size(), winner);
    }
  }
  std::uint32_t winner_of(std::size_t key) const {
    const Change none;
    const Change* best = &none;
    for (const Change& each : there_) {
      if (each.rank > best->rank && matches(each.match, fields_, keys_[key])) best = &each;
    }
    return best->number;
  }

  const RuleFields fields_;
  Rules source_;
  std::vector<RuleWords> keys_;
  std::vector<churn::AnswersOf<std::uint32_t>> answers_;
  std::deque<std::uint32_t> free_;
  std::vector<Change> there_;
  std::vector<std::vector<Change>> commits_;
  std::uint64_t added_ = 0;
};

/// Returns the number of wrong answers of a table while the script runs. The table is empty at first.
template <class Key>
std::size_t wrong_answers(conformance::ShaderRun& run, const RuleScript& script, const std::vector<Key>& columns,
                          RuleTable& table, QuiescentStates& states) {
  const auto apply = [&](std::size_t commit) { script.apply(commit, table); };
  return churn::wrong_answers(run, columns, script.answers(), states, script.size(), script.size() / 10, apply);
}

inline std::vector<rules_narrow_key> narrow_columns(const std::vector<RuleWords>& keys) {
  std::vector<rules_narrow_key> columns;
  columns.reserve(keys.size());
  for (const RuleWords& key : keys) columns.push_back({{key[0], key[1]}});
  return columns;
}

inline std::vector<rules_key> wide_columns(const std::vector<RuleWords>& keys) {
  std::vector<rules_key> columns;
  columns.reserve(keys.size());
  for (const RuleWords& key : keys) columns.push_back({{key[0], key[1], key[2], key[3], key[4]}});
  return columns;
}

}  // namespace penumbra::rules_testing
