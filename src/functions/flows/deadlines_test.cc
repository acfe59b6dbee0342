// SPDX-License-Identifier: Apache-2.0
#include "functions/flows/deadlines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"

namespace penumbra::flows {
namespace {

constexpr std::size_t kNoLimit = 1'000'000;

/// Sets random deadlines and moves the clock by random steps. No deadline may be early, and each must be reached in the
/// same step.
TEST(FlowDeadlines, AreReachedInTime) {
  Random random(1);
  milliseconds now(123'456);
  Deadlines deadlines(1000, now);
  std::map<std::uint32_t, milliseconds> waiting;
  for (int round = 0; round < 3000; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::uint32_t number = 1 + random.below(1000);  // some have a deadline already
      waiting[number] = now + milliseconds(1 + random.below(100'000));
      deadlines.put(number, waiting[number]);
    }
    now += milliseconds(random.below(100));
    deadlines.take_due(now, kNoLimit, [&](std::uint32_t number) {
      const milliseconds deadline = waiting.at(number);
      if (deadline > now) {
        deadlines.put(number, deadline);  // the wheel ends before this deadline
      } else {
        waiting.erase(number);
      }
    });
    for (const auto& [number, deadline] : waiting) ASSERT_GT(deadline + Deadlines::kStep, now) << number;
  }
}

TEST(FlowDeadlines, AreGivenAsManyAtATimeAsIsSaid) {
  Deadlines deadlines(10, milliseconds(0));
  for (std::uint32_t number = 1; number <= 10; ++number) deadlines.put(number, milliseconds(5));
  std::vector<std::uint32_t> given;
  const auto take = [&](std::uint32_t number) { given.push_back(number); };
  EXPECT_EQ(deadlines.take_due(milliseconds(100), 4, take), 4U);
  EXPECT_EQ(deadlines.take_due(milliseconds(100), 4, take), 4U);
  EXPECT_EQ(deadlines.take_due(milliseconds(100), 4, take), 2U);
  EXPECT_EQ(deadlines.take_due(milliseconds(60'000), 4, take), 0U);
  EXPECT_EQ(given, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(FlowDeadlines, AreBroughtForward) {
  Deadlines deadlines(5, milliseconds(0));
  for (std::uint32_t number = 1; number <= 5; ++number) deadlines.put(number, milliseconds(7'000) * number);
  deadlines.bring_forward();
  std::size_t given = 0;
  deadlines.take_due(milliseconds(0), kNoLimit, [&](std::uint32_t number) {
    ++given;
    deadlines.put(number, milliseconds(1'000));
  });
  EXPECT_EQ(given, 5U);
  EXPECT_EQ(deadlines.take_due(milliseconds(999), kNoLimit, [](std::uint32_t) {}), 0U);
  EXPECT_EQ(deadlines.take_due(milliseconds(1'000), kNoLimit, [](std::uint32_t) {}), 5U);
}

}  // namespace
}  // namespace penumbra::flows
