// SPDX-License-Identifier: Apache-2.0
#include "base/row_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace penumbra {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(RowLimit, TakesItsWordsOutOfTheOthers) {
  const RowLimit usual{Words{"a", "b"}};
  EXPECT_EQ(usual.most(), RowLimit::kUnasked);
  EXPECT_FALSE(usual.is_given());
  EXPECT_THAT(usual.rest(), ElementsAre("a", "b"));
  const RowLimit five{Words{"a", "--limit", "5", "b"}};
  EXPECT_EQ(five.most(), 5U);
  EXPECT_TRUE(five.is_given());
  EXPECT_THAT(five.rest(), ElementsAre("a", "b"));
  const RowLimit all{Words{"all"}};
  EXPECT_EQ(all.most(), SIZE_MAX);
  EXPECT_THAT(all.rest(), IsEmpty());
  const Words both{"all", "--limit", "7"};
  EXPECT_EQ(RowLimit(both).most(), 7U);
}

TEST(RowLimit, RefusesWhatIsNoNumber) {
  for (const Words& wrong : {Words{"--limit"}, Words{"--limit", "x"}, Words{"--limit", "-1"}, Words{"--limit", "5k"},
                             Words{"--limit", "99999999999999999999"}, Words{"--limit", ""}}) {
    EXPECT_THROW(RowLimit{wrong}, std::invalid_argument) << wrong.back();
  }
}

TEST(RowLimit, SaysHowManyThereAre) {
  EXPECT_EQ(RowLimit::answer("routes", {1, 2}, 2, 2).dump(), R"({"routes":[1,2],"total":2,"truncated":false})");
  EXPECT_EQ(RowLimit::answer("routes", {1, 2}, 2, 9).dump(),
            R"({"routes":[1,2],"total":9,"truncated":true,"note":"2 of 9; 'show routes all' shows every one"})");
}

}  // namespace
}  // namespace penumbra
