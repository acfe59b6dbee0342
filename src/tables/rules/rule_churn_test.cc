// SPDX-License-Identifier: Apache-2.0
//
// Lookups while rules are added and removed. One state of the rules must decide each key: the last state committed
// before the lookup, or one committed during the lookup. Commits replace several rules at once, so a reader that saw
// part of a commit would return an answer of no state. Compiled into each structure's churn test program.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "base/sanitizer_scale.h"
#include "tables/rules/rule_script.h"

namespace penumbra {
namespace {

using rules_testing::RuleScript;

constexpr std::size_t kCommits = 24'000 / kSanitizerScale;

class RuleChurn : public testing::TestWithParam<std::string> {};

TEST_P(RuleChurn, DecidesEachNarrowKeyByAStateThatExisted) {
  static const RuleScript kScript(RuleFields::ipv4, kCommits);
  QuiescentStates states(churn::kReaders);
  const auto table = rules_testing::make_table(RuleFields::ipv4, states);
  conformance::ShaderRun run(GetParam(), table->shader(), table->table());
  EXPECT_EQ(wrong_answers(run, kScript, rules_testing::narrow_columns(kScript.keys()), *table, states), 0U);
}

TEST_P(RuleChurn, DecidesEachWideKeyByAStateThatExisted) {
  static const RuleScript kScript(RuleFields::openflow, kCommits);
  QuiescentStates states(churn::kReaders);
  const auto table = rules_testing::make_table(RuleFields::openflow, states);
  conformance::ShaderRun run(GetParam(), table->shader(), table->table());
  EXPECT_EQ(wrong_answers(run, kScript, rules_testing::wide_columns(kScript.keys()), *table, states), 0U);
}

PENUMBRA_FOR_EACH_ENGINE(RuleChurn);

}  // namespace
}  // namespace penumbra
