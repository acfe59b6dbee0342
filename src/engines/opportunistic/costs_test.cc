// SPDX-License-Identifier: Apache-2.0
#include "opportunistic/costs.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace penumbra::opportunistic {
namespace {

/// Costs of a CPU, whose batches all take as long per item.
constexpr Costs kCpuCosts{.few = 200, .chunk = 4000, .busy = 4000, .period = 4000};

Taken taken(const std::vector<MemberCosts>& known, std::uint64_t max_delay = 0) {
  return take_best(known, max_delay);
}

TEST(TakeBest, TakesTheOnlyOneForEverything) {
  EXPECT_EQ(taken({{3, kCpuCosts}}), (Taken{3, {}}));
}

TEST(TakeBest, TakesWhatAnswersSoonestUnderLightLoadAndTheShortestTurnUnderHeavy) {
  constexpr Costs kGpu{.few = 15'000, .chunk = 16'000, .busy = 200, .period = 1000};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kGpu}}), (Taken{0, {1}}));
  EXPECT_EQ(taken({{1, kGpu}, {0, kCpuCosts}}), (Taken{0, {1}})) << "whatever the order";
}

TEST(TakeBest, DoesNotTakeAnAcceleratorThatTheWorkersFill) {
  constexpr Costs kFilled{.few = 15'000, .chunk = 16'000, .busy = 200, .period = 12'001};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kFilled}}), (Taken{0, {}})) << "12 us between answers, and 4 + 2 on the CPU";
}

TEST(TakeBest, HoldsWhatIsMeasuredAsALittleSlowerForWorthATrial) {
  constexpr Costs kSlower{.few = 15'000, .chunk = 16'000, .busy = 5000, .period = 8000};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kSlower}}), (Taken{0, {1}}));
  constexpr Costs kFaster{.few = 14'000, .chunk = 16'000, .busy = 2500, .period = 4500};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kSlower}, {2, kFaster}}), (Taken{0, {2, 1}}));
}

TEST(TakeBest, TakesSmallDifferencesForNoneUnderLightLoad) {
  Costs close = kCpuCosts;
  close.few = 0.98 * kCpuCosts.few;
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, close}}), (Taken{0, {1}}));
}

TEST(TakeBest, OfSeveralThatAreBetterTakesTheOneThatAnswersSoonest) {
  constexpr Costs kFar{.few = 15'000, .chunk = 16'000, .busy = 100, .period = 1000};
  constexpr Costs kNear{.few = 3000, .chunk = 3500, .busy = 120, .period = 1010};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kFar}, {2, kNear}}), (Taken{0, {2, 1}}));
  EXPECT_EQ(taken({{0, kCpuCosts}, {2, kNear}, {1, kFar}}), (Taken{0, {2, 1}})) << "whatever the order";
}

TEST(TakeBest, OfSeveralThatAreBetterTakesTheOneThatGetsClearlyMoreDone) {
  constexpr Costs kFar{.few = 15'000, .chunk = 16'000, .busy = 100, .period = 1000};
  constexpr Costs kNear{.few = 3000, .chunk = 3500, .busy = 1500, .period = 3000};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kFar}, {2, kNear}}), (Taken{0, {1, 2}}));
}

TEST(TakeBest, TakesNothingThatNeedsLongerThanTheDelayUnderHeavyLoad) {
  constexpr Costs kFar{.few = 15'000, .chunk = 16'000, .busy = 100, .period = 1000};
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kFar}}, 16'000), (Taken{0, {1}}));
  EXPECT_EQ(taken({{0, kCpuCosts}, {1, kFar}}, 15'999), (Taken{0, {}}));
}

TEST(Costs, AreTheSameBackFromFigures) {
  EXPECT_EQ(costs_of(to_figures(kCpuCosts)), kCpuCosts);
}

TEST(Costs, AreNotMadeOfOtherFigures) {
  for (const double wrong :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    for (std::size_t i = 0; i < kCostFigures; ++i) {
      auto figures = to_figures(kCpuCosts);
      figures.at(i) = wrong;
      EXPECT_FALSE(costs_of(figures)) << i << ": " << wrong;
    }
  }
  EXPECT_FALSE(costs_of(std::array<double, 3>{1, 2, 3}));
}

TEST(Costs, AreDescribedForPeople) {
  EXPECT_EQ(describe({.few = 120, .chunk = 610, .busy = 590, .period = 600}),
            "8, 64 items 0.12, 0.61 us alone; 64 items 0.60 us each of many, 0.59 us of the worker");
}

}  // namespace
}  // namespace penumbra::opportunistic
