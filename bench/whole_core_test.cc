// SPDX-License-Identifier: Apache-2.0
#include "whole_core.h"

#include <gtest/gtest.h>

#include "base/sanitizer_scale.h"

namespace penumbra::bench {
namespace {

/// A core whose rate the test sets.
struct ToldCore {
  double rate = 100;
  WholeCore core{[this] { return rate; }};
};

TEST(WholeCore, TakesTheFirstSampleOfAWholeCore) {
  ToldCore told;
  int calls = 0;
  EXPECT_EQ(told.core.of([&] { return ++calls; }), 1);
  told.rate = 81;  // A drop within the variation of the clock.
  EXPECT_EQ(told.core.of([&] { return ++calls; }), 2);
  EXPECT_EQ(told.core.samples(), 2U);
  EXPECT_EQ(told.core.shared(), 0U);
}

TEST(WholeCore, TakesASampleAnewThatHadHalfACore) {
  ToldCore told;
  int calls = 0;
  const double figure = told.core.of([&] {
    // The other thread works from the first call until the third one.
    told.rate = ++calls == 1 || calls == 2 ? 50 : 100;
    return calls;
  });
  EXPECT_EQ(figure, 4) << "the third one began with half a core";
  EXPECT_EQ(told.core.shared(), 0U);
}

TEST(WholeCore, WaitsForAWholeCoreAndLeavesSomeOfThatToOthers) {
  unsigned rates = 0, half_until = 0;
  WholeCore core{[&] { return ++rates <= half_until ? 50 : 100; }};
  const auto is_of_whole_core = [&](unsigned half_rates) {
    half_until = rates + half_rates;
    return core.of([&] { return rates > half_until ? 1 : 0; }) > 0;
  };
  EXPECT_FALSE(is_of_whole_core(WholeCore::kMostWaits)) << "one sample does not have all of it";
  constexpr unsigned kNext = WholeCore::kMostWaits / 2 / WholeCore::kShares;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(is_of_whole_core(kNext));
  EXPECT_FALSE(is_of_whole_core(WholeCore::kMostWaits / WholeCore::kShares)) << "the less, the later";
}

TEST(WholeCore, SaysThatACoreWasSharedAllTheTime) {
  ToldCore told;
  told.rate = 50;
  unsigned calls = 0;
  EXPECT_EQ(told.core.of([&] { return ++calls; }), WholeCore::kMostCalls);
  EXPECT_EQ(told.core.shared(), 1U);
}

TEST(WholeCore, LearnsOnTheWayWhatTheCoreCanDo) {
  ToldCore told;
  told.rate = 50;
  WholeCore late{[&] { return told.rate; }};
  EXPECT_EQ(late.of([] { return 1.0; }), 1) << "it knows of no more";
  told.rate = 100;
  EXPECT_EQ(late.of([] { return 2.0; }), 2);
  told.rate = 50;
  EXPECT_EQ(late.of([] { return 3.0; }), 3);
  EXPECT_EQ(late.shared(), 1U);
}

TEST(WholeCore, MeasuresWhatACoreBeginsAtOnce) {
  EXPECT_GT(WholeCore::core_rate(), 100 / kSanitizerScale) << "million additions a second";
}

}  // namespace
}  // namespace penumbra::bench
