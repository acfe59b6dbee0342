// SPDX-License-Identifier: Apache-2.0
//
// States that soon restart from 0 while readers look up keys.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/sanitizer_scale.h"
#include "tables/rules/rule_script.h"
#include "tables/rules_linear/linear_rules.h"
#include "tables/rules_tuple/tuple_rules.h"

const char* penumbra::rules_testing::structure() {
  return "tuple";
}

namespace penumbra {
namespace {

using rules_testing::RuleScript;

constexpr std::uint32_t kLastState = 40;

class RuleStates : public testing::TestWithParam<std::string> {
 protected:
  static void expect_no_wrong_answers(RuleTable& table, QuiescentStates& states) {
    static const RuleScript kScript(RuleFields::ipv4, 3'000 / kSanitizerScale);
    conformance::ShaderRun run(GetParam(), table.shader(), table.table());
    EXPECT_EQ(wrong_answers(run, kScript, rules_testing::narrow_columns(kScript.keys()), table, states), 0U);
  }
};

TEST_P(RuleStates, OfLinearSearchAreCountedAnew) {
  QuiescentStates states(churn::kReaders);
  LinearRules table(RuleFields::ipv4, states, kLastState);
  expect_no_wrong_answers(table, states);
}

TEST_P(RuleStates, OfTupleSearchAreCountedAnew) {
  QuiescentStates states(churn::kReaders);
  TupleRules table(TupleRules::Search::tuple, RuleFields::ipv4, rules_testing::kSeed, states, kLastState);
  expect_no_wrong_answers(table, states);
}

TEST_P(RuleStates, OfBloomSearchAreCountedAnew) {
  QuiescentStates states(churn::kReaders);
  TupleRules table(TupleRules::Search::bloom, RuleFields::ipv4, rules_testing::kSeed, states, kLastState);
  expect_no_wrong_answers(table, states);
}

PENUMBRA_FOR_EACH_ENGINE(RuleStates);

}  // namespace
}  // namespace penumbra
