// SPDX-License-Identifier: Apache-2.0
#include "dir24_8_churn.h"

#include <gtest/gtest.h>

#include <string>

namespace penumbra {
namespace {

class Dir24_8Churn : public testing::TestWithParam<std::string> {};

TEST_P(Dir24_8Churn, NeverShowsReadersAnAnswerThatWasNotRight) {
  QuiescentStates states(churn::kReaders);
  Dir24_8 table(states);
  churn::expect_right_answers<Ipv4>(GetParam(), dir24_8_testing::churn_pool(), dir24_8_testing::kChurn, table,
                                    table.table(), states);
}

PENUMBRA_FOR_EACH_ENGINE(Dir24_8Churn);

}  // namespace
}  // namespace penumbra
