// SPDX-License-Identifier: Apache-2.0
#include "gopt/width_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "base/random.h"

namespace penumbra::gopt {
namespace {

constexpr std::size_t kOfChunks = length_class(64);

/// Returns the ticks of a batch at a width.
using Cost = std::function<double(std::uint32_t width)>;

/// Runs batches until the next trial is over. A batch costs `cost` with some noise.
std::uint32_t trial(WidthChoice& choice, const Cost& cost, std::uint32_t items = 64) {
  Random random(1);
  if (!choice.is_trial()) choice.passed(choice.left());
  for (;;) {
    double ticks = cost(choice.tried()) * (0.95 + 0.01 * random.below(11));
    if (random.below(128) == 0) ticks *= 50;  // Another program had the core.
    if (choice.measured(static_cast<std::uint64_t>(ticks), items)) return choice.chosen();
  }
}

/// Makes width `best` cheaper than all other widths by `factor`.
Cost cheapest(std::uint32_t best, double factor) {
  return [=](std::uint32_t width) { return width == best ? 10'000.0 : 10'000.0 * factor; };
}

TEST(LengthClass, HoldsLengthsUpToAPowerOfTwo) {
  EXPECT_EQ(length_class(1), 0U);
  EXPECT_EQ(length_class(2), 1U);
  EXPECT_EQ(length_class(3), 2U);
  EXPECT_EQ(length_class(33), kOfChunks);
  EXPECT_EQ(length_class(64), kOfChunks);
  EXPECT_EQ(length_class(65), kOfChunks + 1);
  EXPECT_EQ(length_class(4096), kLengthClasses - 1);
  EXPECT_EQ(length_class(std::numeric_limits<std::uint32_t>::max()), kLengthClasses - 1);
}

TEST(WidthChoice, IsTheCheapestThoughSomeMeasurementsAreFarOff) {
  for (const std::uint32_t best : WidthChoice::kWidths) {
    WidthChoice choice(kOfChunks);
    EXPECT_EQ(trial(choice, cheapest(best, 1.5)), best);
    EXPECT_NEAR(choice.plain_cost() / choice.cost(), best == 1 ? 1.0 : 1.5, 0.1);
  }
}

TEST(WidthChoice, LosesLessThanThreeInAHundredToTheBestWidth) {
  for (const double factor : {1.03, 1.05, 1.1}) {
    for (const std::uint32_t best : WidthChoice::kWidths) {
      WidthChoice choice(kOfChunks);
      EXPECT_EQ(trial(choice, cheapest(best, factor)), best) << factor;
    }
  }
}

TEST(WidthChoice, StaysAtOneWhereTurnsGainNothing) {
  WidthChoice choice(kOfChunks);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 10'000.0 + 20 * width; }), 1U);
}

TEST(WidthChoice, IsNotMisledByPhasesInWhichAllIsSlow) {
  WidthChoice choice(kOfChunks);
  int batches = 0;
  const Cost cost = [&batches](std::uint32_t width) {
    const bool is_slow = ++batches / 1000 % 2 == 0;
    return (width == 16 ? 10'000.0 : 10'700.0) * (is_slow ? 3 : 1);
  };
  EXPECT_EQ(trial(choice, cost), 16U);
}

TEST(WidthChoice, IgnoresWhatTheFirstBatchesAfterAChangeOfWidthCost) {
  WidthChoice choice(kOfChunks);
  std::uint32_t last = 0, since = 0;
  const Cost cost = [&](std::uint32_t width) {
    since = width == last ? since + 1 : 0;
    last = width;
    const double cold = width == 8 && since < WidthChoice::kWarmItems / 64 ? 100'000.0 : 0.0;
    return (width == 8 ? 10'000.0 : 10'700.0) + cold;
  };
  EXPECT_EQ(trial(choice, cost), 8U);
}

TEST(WidthChoice, StaysWhereItIsUnlessAnotherIsBetterByMoreThanNoise) {
  WidthChoice choice(kOfChunks);
  EXPECT_EQ(trial(choice, cheapest(16, 1.25)), 16U);
  const auto with_rival = [](std::uint32_t width) { return width == 24 ? 7'980.0 : width == 16 ? 8'000.0 : 10'000.0; };
  EXPECT_EQ(trial(choice, with_rival), 16U);
  EXPECT_EQ(trial(choice, cheapest(1, 1.1)), 1U);
}

TEST(WidthChoice, FollowsWhatChanges) {
  WidthChoice choice(kOfChunks);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 10'000.0 + 100 * width; }), 1U);
  EXPECT_EQ(trial(choice, [](std::uint32_t width) { return 1'000'000.0 / width; }), 64U);
}

TEST(WidthChoice, OfBatchesOfALengthTriesNoWidthsFarBeyondIt) {
  WidthChoice alone(length_class(1));
  EXPECT_EQ(trial(alone, cheapest(4, 1.15), 1), 1U);
  EXPECT_EQ(trial(alone, cheapest(4, 1.5), 1), 4U);
  EXPECT_FALSE(alone.load_calibrations(8));
  WidthChoice few(length_class(8));
  std::uint32_t widest = 0;
  trial(
      few,
      [&widest](std::uint32_t width) {
        widest = std::max(widest, width);
        return 1000.0;
      },
      8);
  EXPECT_EQ(widest, 8U);
  WidthChoice many;
  trial(
      many,
      [&widest](std::uint32_t width) {
        widest = std::max(widest, width);
        return 1000.0;
      },
      4096);
  EXPECT_EQ(widest, 64U);
}

TEST(WidthChoice, BeginsWithWhatAnEarlierRunFoundAndStillFollows) {
  WidthChoice choice(kOfChunks);
  for (const double wrong : {17.0, 0.0, -1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(choice.load_calibrations(wrong)) << wrong;
  }
  EXPECT_TRUE(choice.is_trial());
  EXPECT_TRUE(choice.load_calibrations(24));
  EXPECT_EQ(choice.chosen(), 24U);
  EXPECT_FALSE(choice.is_trial());
  EXPECT_EQ(trial(choice, cheapest(8, 1.25)), 8U);
}

TEST(WidthChoice, BeginsATrialWhenTheTableIsAnother) {
  WidthChoice choice(kOfChunks);
  trial(choice, cheapest(16, 1.25));
  EXPECT_FALSE(choice.is_trial());
  choice.restart();
  EXPECT_TRUE(choice.is_trial());
  EXPECT_EQ(choice.chosen(), 16U);
  EXPECT_EQ(trial(choice, cheapest(32, 1.25)), 32U);
}

TEST(WidthChoice, TakesLittleOfTheTimeThoughOtherWidthsAreFarSlower) {
  for (const double slower : {1.0, 3.0, 20.0}) {
    WidthChoice choice(kOfChunks);
    double in_trial = 0;
    double share = 1;
    for (int trials = 0; trials < 4; ++trials) {
      in_trial = 0;
      trial(choice, [&](std::uint32_t width) {
        const double ticks = width == 1 ? 1000 : 1000 * slower;
        in_trial += ticks;
        return ticks;
      });
      const double until_next = static_cast<double>(choice.left()) / 64 * 1000;
      EXPECT_LT(in_trial / until_next, share) << slower << ", trial " << trials;
      EXPECT_LT(in_trial / until_next, 1 / 12.0) << slower;
      share = in_trial / until_next;
      if (trials == 3) {
        EXPECT_LT(share, 1 / 200.0) << slower;
      }
    }
  }
}

}  // namespace
}  // namespace penumbra::gopt
