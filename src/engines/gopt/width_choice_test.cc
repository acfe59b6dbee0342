// SPDX-License-Identifier: Apache-2.0
#include "gopt/width_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "base/random.h"

namespace penumbra::gopt {
namespace {

/// Runs batches of 64 until the next trial is over; a batch at a width costs what `cost` says, more or less.
std::uint32_t trial(WidthChoice& choice, const std::function<double(std::uint32_t)>& cost) {
  Random random(1);
  for (;;) {
    if (!choice.measures(64)) continue;
    double ticks = cost(choice.tried()) * (0.95 + 0.01 * random.below(11));
    if (random.below(64) == 0) ticks *= 50;  // the core was somebody else's meanwhile
    if (choice.measured(static_cast<std::uint64_t>(ticks), 64)) return choice.chosen();
  }
}

TEST(WidthChoice, IsTheCheapestThoughSomeMeasurementsAreFarOff) {
  for (const std::uint32_t best : WidthChoice::kWidths) {
    WidthChoice choice;
    const auto cost = [best](std::uint32_t width) { return width == best ? 10'000.0 : 15'000.0; };
    EXPECT_EQ(trial(choice, cost), best);
    EXPECT_NEAR(choice.plain_cost() / choice.cost(), best == 1 ? 1.0 : 1.5, 0.1);
  }
}

TEST(WidthChoice, StaysAtOneWhereTurnsGainNothing) {
  WidthChoice choice;
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 10'000.0 + 20 * width; }), 1U);
}

TEST(WidthChoice, StaysWhereItIsUnlessAnotherIsClearlyBetter) {
  WidthChoice choice;
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return width == 16 ? 8'000.0 : 10'000.0; }), 16U);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return width == 24   ? 7'900.0
                                                           : width == 16 ? 8'000.0
                                                                         : 10'000.0; }),
            16U);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return width == 1 ? 9'000.0 : 10'000.0; }), 1U);
}

TEST(WidthChoice, FollowsWhatChanges) {
  WidthChoice choice;
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 10'000.0 + 100 * width; }), 1U);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 1'000'000.0 / width; }), 64U);
}

TEST(WidthChoice, BeginsWithWhatAnEarlierRunFoundAndStillFollows) {
  WidthChoice choice;
  EXPECT_FALSE(choice.recall(17));
  EXPECT_TRUE(choice.measures(64));
  EXPECT_TRUE(choice.recall(24));
  EXPECT_EQ(choice.chosen(), 24U);
  EXPECT_FALSE(choice.measures(64));
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return width == 8 ? 8'000.0 : 10'000.0; }), 8U);
}

TEST(WidthChoice, MeasuresFewBatchesOfAnySizeAndNoSmallOnes) {
  WidthChoice small;
  EXPECT_FALSE(small.measures(WidthChoice::kLeastItems - 1));
  for (const std::uint32_t items : {32U, 64U, 1000U, 4096U}) {
    WidthChoice choice;
    int measured = 0, trials = 0, batches = 0;
    for (; trials < 4; ++batches) {
      if (!choice.measures(items)) continue;
      ++measured;
      if (choice.measured(1000, items)) ++trials;
    }
    EXPECT_GT(batches, 220 * measured) << items;  // the last trial's batches to come are not among them
    EXPECT_LT(batches, 230 * measured) << items;
  }
}

TEST(WidthChoice, TakesAsLittleTimeWhereOtherWidthsAreFarSlower) {
  for (const double slower : {1.0, 3.0, 20.0}) {
    WidthChoice choice;
    double in_trials = 0, all = 0;
    for (int trials = 0; trials < 4;) {
      const bool measures = choice.measures(64);
      const double ticks = (measures ? choice.tried() : choice.chosen()) == 1 ? 1000 : 1000 * slower;
      all += ticks;
      if (!measures) continue;
      in_trials += ticks;
      if (choice.measured(static_cast<std::uint64_t>(ticks), 64)) ++trials;
    }
    EXPECT_GT(all, 220 * in_trials) << slower;  // the time until the next trial is not among it
    EXPECT_LT(all, 230 * in_trials) << slower;
  }
}

}  // namespace
}  // namespace penumbra::gopt
