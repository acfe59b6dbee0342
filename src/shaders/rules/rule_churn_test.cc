// SPDX-License-Identifier: Apache-2.0
//
// Lookups while rules come and go: each key is decided by one state of the rules, the last one committed before the
// lookup or one that was committed meanwhile. Commits exchange several rules at once, so that a reader who saw a part
// of one would answer what no state does. Compiled into each structure's churn test program.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "shaders/churn_readers.h"
#include "shaders/rules/rules_testing.h"

namespace penumbra {
namespace {

constexpr std::size_t kCommits = 24'000 / kSanitizerScale, kRound = kCommits / 10;
constexpr std::size_t kThere = 300;      ///< rules, about
constexpr std::uint32_t kNumbers = 900;  ///< so that some that are used again are waited for, and some are not

/// Rules with their numbers, the commits that exchange them, and what is right of each key after each commit.
class RuleScript {
 public:
  explicit RuleScript(RuleFields fields)
      : fields_(fields),
        source_({.fields = fields, .masks = 40, .values = 2, .priorities = 4, .ranged = 3, .any_bits = false}, 11) {
    for (std::uint32_t number = 1; number <= kNumbers; ++number) free_.push_back(number);
    for (int i = 0; i < 60; ++i) keys_.push_back(source_.key());
    answers_.assign(keys_.size(), {{0, RULES_NONE}});
    for (std::size_t i = 0; i < kCommits; ++i) add_commit();
  }

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
    std::uint64_t rank = 0;  ///< 0: taken out
    RuleMatch match;
  };

  void add_commit() {
    std::vector<Change>& changes = commits_.emplace_back();
    const std::size_t exchanged = 1 + source_.random().below(6);
    std::vector<std::uint32_t> gone;
    for (std::size_t i = 0; i < exchanged && there_.size() > kThere; ++i) {
      // One that wins for some key, if there is one: its going must not be seen without what comes in its place.
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
  rules_testing::Rules source_;
  std::vector<RuleWords> keys_;
  std::vector<churn::AnswersOf<std::uint32_t>> answers_;
  std::deque<std::uint32_t> free_;
  std::vector<Change> there_;
  std::vector<std::vector<Change>> commits_;
  std::uint64_t added_ = 0;
};

class RuleChurn : public testing::TestWithParam<std::string> {
 protected:
  template <class Key>
  void expect_no_wrong_answers(RuleFields fields, const RuleScript& script, const std::vector<Key>& columns) {
    QuiescentStates states(churn::kReaders);
    const auto table = rules_testing::make_table(fields, states);
    conformance::ShaderRun run(GetParam(), table->shader(), table->table());
    const auto apply = [&](std::size_t commit) { script.apply(commit, *table); };
    EXPECT_EQ(churn::wrong_answers(run, columns, script.answers(), states, kCommits, kRound, apply), 0U);
  }
};

TEST_P(RuleChurn, DecidesEachNarrowKeyByAStateThatExisted) {
  static const RuleScript kScript(RuleFields::ipv4);
  std::vector<rules_narrow_key> columns;
  for (const RuleWords& key : kScript.keys()) columns.push_back({{key[0], key[1]}});
  expect_no_wrong_answers(RuleFields::ipv4, kScript, columns);
}

TEST_P(RuleChurn, DecidesEachWideKeyByAStateThatExisted) {
  static const RuleScript kScript(RuleFields::openflow);
  std::vector<rules_key> columns;
  for (const RuleWords& key : kScript.keys()) columns.push_back({{key[0], key[1], key[2], key[3], key[4]}});
  expect_no_wrong_answers(RuleFields::openflow, kScript, columns);
}

PENUMBRA_FOR_EACH_ENGINE(RuleChurn);

}  // namespace
}  // namespace penumbra
