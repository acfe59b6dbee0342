// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace penumbra::forwarding {
namespace {

std::vector<std::uint32_t> shares(std::span<const BucketClaim> claims) {
  std::vector<std::uint32_t> count(claims.size(), 0);
  for (const std::uint16_t owner : fill_buckets(claims)) ++count.at(owner);
  return count;
}

TEST(Buckets, AreSharedInProportion) {
  EXPECT_THAT(shares(std::vector<BucketClaim>{{1, 1}, {2, 1}}), testing::ElementsAre(512, 512));
  EXPECT_THAT(shares(std::vector<BucketClaim>{{1, 3}, {2, 1}}), testing::ElementsAre(768, 256));
  EXPECT_THAT(shares(std::vector<BucketClaim>{{1, 1}, {2, 2}, {3, 4}}), testing::ElementsAre(146, 293, 585));
  EXPECT_THAT(shares(std::vector<BucketClaim>{{7, 5}}), testing::ElementsAre(1024));
}

TEST(Buckets, AreAsNearToTheWeightsAsWholeNumbersCanBe) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<BucketClaim> claims(1 + random() % 40);
    double weight = 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      claims[i] = {i, static_cast<std::uint32_t>(1 + random() % 256)};
      weight += claims[i].weight;
    }
    const auto found = shares(claims);
    double below_one = 0;
    for (const auto& claim : claims) below_one += 1.0 * claim.weight * kBuckets < weight ? 1 : 0;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      EXPECT_GE(found[i], 1U);
      // Claims that are rounded up to one bucket take it from other claims.
      EXPECT_LT(std::abs(found[i] - claims[i].weight * kBuckets / weight), 1 + below_one);
    }
  }
}

TEST(Buckets, GiveEvenTheLeastOfManyOne) {
  std::vector<BucketClaim> claims;
  claims.reserve(kMaxClaims);
  for (std::uint64_t i = 0; i < kMaxClaims; ++i) claims.push_back({i, i == 0 ? 256U : 1U});
  const auto found = shares(claims);
  EXPECT_EQ(*std::min_element(found.begin(), found.end()), 2U);
  EXPECT_NEAR(found[0], 1024 * 256.0 / 511, 1);
  for (auto& claim : claims) claim.weight = 256;
  claims[0].weight = 1;
  EXPECT_EQ(shares(claims)[0], 1U);
}

TEST(Buckets, DoNotDependOnTheOrderOfClaims) {
  const std::vector<BucketClaim> one{{10, 1}, {20, 2}, {30, 3}}, other{{30, 3}, {10, 1}, {20, 2}};
  const auto a = fill_buckets(one), b = fill_buckets(other);
  for (std::size_t i = 0; i < kBuckets; ++i) EXPECT_EQ(one[a[i]].identity, other[b[i]].identity);
}

TEST(Buckets, MostlyStayWhenAClaimGoes) {
  std::vector<BucketClaim> claims(8);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i] = {i * 1000, 1};
  const auto before = fill_buckets(claims);
  claims.pop_back();
  const auto after = fill_buckets(claims);
  std::size_t moved = 0;  // among the buckets of the remaining claims
  for (std::size_t i = 0; i < kBuckets; ++i) moved += before[i] != 7 && before[i] != after[i] ? 1 : 0;
  EXPECT_LT(moved, kBuckets / 8) << "shared out at random, six of seven would have moved";
}

}  // namespace
}  // namespace penumbra::forwarding
