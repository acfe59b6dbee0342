// SPDX-License-Identifier: Apache-2.0
#include "penumbra/deadlines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/random.h"

namespace penumbra {
namespace {

using Milliseconds = std::chrono::milliseconds;

constexpr std::size_t kNoLimit = 1'000'000;
constexpr Milliseconds kStep{10};

/// Sets random deadlines and moves the clock by random steps. No deadline may be early, and each must be reached in the
/// same step.
TEST(Deadlines, AreReachedInTime) {
  Random random(1);
  Milliseconds now(123'456);
  Deadlines deadlines(1000, now, kStep);
  std::map<std::uint32_t, Milliseconds> waiting;
  for (int round = 0; round < 3000; ++round) {
    for (int i = 0; i < 5; ++i) {
      const std::uint32_t number = 1 + random.below(1000);  // some have a deadline already
      waiting[number] = now + Milliseconds(1 + random.below(100'000));
      deadlines.put(number, waiting[number]);
    }
    now += Milliseconds(random.below(100));
    deadlines.take_due(now, kNoLimit, [&](std::uint32_t number) {
      const Milliseconds deadline = waiting.at(number);
      if (deadline > now) {
        deadlines.put(number, deadline);  // the wheel ends before this deadline
      } else {
        waiting.erase(number);
      }
    });
    for (const auto& [number, deadline] : waiting) ASSERT_GT(deadline + kStep, now) << number;
  }
}

TEST(Deadlines, AreGivenAsManyAtATimeAsIsSaid) {
  Deadlines deadlines(10, Milliseconds(0), kStep);
  for (std::uint32_t number = 1; number <= 10; ++number) deadlines.put(number, Milliseconds(5));
  std::vector<std::uint32_t> given;
  const auto take = [&](std::uint32_t number) { given.push_back(number); };
  EXPECT_EQ(deadlines.take_due(Milliseconds(100), 4, take), 4U);
  EXPECT_EQ(deadlines.take_due(Milliseconds(100), 4, take), 4U);
  EXPECT_EQ(deadlines.take_due(Milliseconds(100), 4, take), 2U);
  EXPECT_EQ(deadlines.take_due(Milliseconds(60'000), 4, take), 0U);
  EXPECT_EQ(given, (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(Deadlines, AreBroughtForward) {
  Deadlines deadlines(5, Milliseconds(0), kStep);
  for (std::uint32_t number = 1; number <= 5; ++number) deadlines.put(number, Milliseconds(7'000) * number);
  deadlines.bring_forward();
  std::size_t given = 0;
  deadlines.take_due(Milliseconds(0), kNoLimit, [&](std::uint32_t number) {
    ++given;
    deadlines.put(number, Milliseconds(1'000));
  });
  EXPECT_EQ(given, 5U);
  EXPECT_EQ(deadlines.take_due(Milliseconds(999), kNoLimit, [](std::uint32_t) {}), 0U);
  EXPECT_EQ(deadlines.take_due(Milliseconds(1'000), kNoLimit, [](std::uint32_t) {}), 5U);
}

/// next() names the step in which take_due() finds the first number.
TEST(Deadlines, SayWhenTheNextIsReached) {
  Random random(2);
  const std::chrono::microseconds step(500);
  Deadlines::Time now(1'000'000'123);
  Deadlines deadlines(200, now, step);
  EXPECT_EQ(deadlines.next(), Deadlines::Time::max());
  std::map<std::uint32_t, Deadlines::Time> waiting;
  const auto soonest = [&waiting] {
    auto first = Deadlines::Time::max();
    for (const auto& [number, deadline] : waiting) first = std::min(first, deadline);
    return first;
  };
  for (int round = 0; round < 5000; ++round) {
    for (unsigned i = random.below(3); i > 0; --i) {
      const std::uint32_t number = 1 + random.below(200);
      if (random.below(4) == 0) {
        deadlines.remove(number);
        waiting.erase(number);
      } else {
        waiting[number] = now + std::chrono::microseconds(1 + random.below(2'000'000));
        deadlines.put(number, waiting[number]);
      }
    }
    const Deadlines::Time next = deadlines.next();
    if (waiting.empty()) {
      ASSERT_EQ(next, Deadlines::Time::max());
      continue;
    }
    ASSERT_GE(next, soonest());
    ASSERT_LT(next, soonest() + step);
    if (random.below(2) == 0) continue;
    now = next - Deadlines::Time(1);
    EXPECT_EQ(deadlines.take_due(now, kNoLimit, [](std::uint32_t) {}), 0U);
    if (random.below(2) == 0) continue;
    now = next;
    EXPECT_GT(deadlines.take_due(now, kNoLimit, [&](std::uint32_t number) { waiting.erase(number); }), 0U);
  }
}

}  // namespace
}  // namespace penumbra
