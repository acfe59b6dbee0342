// SPDX-License-Identifier: Apache-2.0
#include "tables/blocks/blocks.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>

#include "base/testing_grace_periods.h"

namespace penumbra {
namespace {

TEST(Blocks, AreUsedAnewOnlyAfterTheirGracePeriod) {
  ManualGracePeriods grace_periods;
  constexpr std::size_t kAll = std::size_t{1} << Blocks::kMostOrder;
  Blocks blocks(grace_periods, kAll, 2 * kAll);
  const Block whole = blocks.take(Blocks::kMostOrder);
  EXPECT_EQ(whole.first, kAll);
  EXPECT_THROW(blocks.take(0), std::length_error);
  blocks.give_back(whole);
  const Block one = blocks.take(0), four = blocks.take(2);
  EXPECT_EQ(four.first % 4, 0U);
  blocks.retire(one, grace_periods.start());
  EXPECT_NE(blocks.take(0).first, one.first);
  grace_periods.end_all();
  EXPECT_EQ(blocks.end(), 2 * kAll);
  for (std::size_t taken = 6; taken < kAll; ++taken) {
    if (blocks.take(0).first == one.first) return;
  }
  ADD_FAILURE() << "the retired one never came back";
}

}  // namespace
}  // namespace penumbra
