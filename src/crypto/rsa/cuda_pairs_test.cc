// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/cuda_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace penumbra::rsa {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(BlindingPairs, GivesPairsThatTheKeyAlreadyHas) {
  BlindingPairs all(64);
  std::vector<std::uint32_t> pairs(3);
  const std::vector<std::uint32_t> keys{0, 7, 0};
  EXPECT_THAT(all.assign(keys, pairs), ElementsAre(0, 1, 2));
  EXPECT_THAT(std::set(pairs.begin(), pairs.end()), SizeIs(3));
  std::vector<std::uint32_t> again(3);
  EXPECT_THAT(all.assign(keys, again), IsEmpty());
  EXPECT_THAT(again, testing::UnorderedElementsAreArray(pairs));
}

TEST(BlindingPairs, MakesPairsTogether) {
  BlindingPairs all(2);
  std::vector<std::uint32_t> pairs(2);
  const auto assign = [&](std::uint32_t count) {
    return all.assign(std::vector<std::uint32_t>(count), std::span(pairs).first(count));
  };
  EXPECT_THAT(assign(2), SizeIs(2));
  assign(1);  // From here on, one pair has one use less than the other.
  for (unsigned uses = 2; uses < BlindingPairs::kUses; ++uses) EXPECT_THAT(assign(2), IsEmpty());
  EXPECT_THAT(assign(2), SizeIs(2)) << "one pair has no use left, and the other has one";
  EXPECT_THAT(assign(2), IsEmpty());
}

TEST(BlindingPairs, TakesPairsOfOtherKeysIfAllAreInUse) {
  BlindingPairs all(2);
  std::vector<std::uint32_t> pairs(2);
  EXPECT_THAT(all.assign(std::vector<std::uint32_t>{1, 1}, pairs), ElementsAre(0, 1));
  EXPECT_THAT(all.assign(std::vector<std::uint32_t>{1, 2}, pairs), testing::Contains(1));
  EXPECT_NE(pairs[0], pairs[1]);
  EXPECT_THAT(all.assign(std::vector<std::uint32_t>{}, std::span<std::uint32_t>()), IsEmpty());
}

TEST(BlindingPairs, ForgetsTheKeyThatHadAnIndex) {
  BlindingPairs all(3);
  std::vector<std::uint32_t> pairs(3);
  EXPECT_THAT(all.assign(std::vector<std::uint32_t>{1, 2, 1}, pairs), SizeIs(3));
  all.forget(1);
  EXPECT_THAT(all.assign(std::vector<std::uint32_t>{1, 2, 1}, pairs), testing::UnorderedElementsAre(0, 2));
}

TEST(BlindingPairs, NeverUsesAPairOfAnotherKeyOrTooOften) {
  constexpr std::uint32_t kPairs = 50;
  BlindingPairs all(kPairs);
  std::map<std::uint32_t, std::pair<std::uint32_t, unsigned>> state;  // of a pair: key, uses
  for (std::uint32_t batch = 0; batch < 300; ++batch) {
    std::vector<std::uint32_t> keys(1 + batch * 7 % kPairs), pairs(keys.size());
    for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = (i * i + batch / 10) % 4;
    const std::vector<std::uint32_t> made = all.assign(keys, pairs);
    EXPECT_THAT(std::set(pairs.begin(), pairs.end()), SizeIs(pairs.size()));
    for (const std::uint32_t operation : made) state[pairs[operation]] = {keys[operation], 0};
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
      ASSERT_TRUE(state.contains(pairs[i])) << "a pair that was never made";
      ASSERT_EQ(state[pairs[i]].first, keys[i]);
      ASSERT_LE(++state[pairs[i]].second, BlindingPairs::kUses);
    }
  }
}

}  // namespace
}  // namespace penumbra::rsa
