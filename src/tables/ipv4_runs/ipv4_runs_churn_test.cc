// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "ipv4_runs.h"
#include "tables/dir24_8/dir24_8_churn.h"

namespace penumbra {
namespace {

class Ipv4RunsChurn : public testing::TestWithParam<std::string> {};

TEST_P(Ipv4RunsChurn, NeverShowsReadersAnAnswerThatWasNotRight) {
  QuiescentStates states(churn::kReaders);
  Dir24_8 table(states);
  Ipv4Runs runs(table.table(), states);
  churn::expect_right_answers<Ipv4>(GetParam(), dir24_8_testing::churn_pool(), dir24_8_testing::kChurn, table,
                                    runs.table(), states);
}

PENUMBRA_FOR_EACH_ENGINE(Ipv4RunsChurn);

}  // namespace
}  // namespace penumbra
