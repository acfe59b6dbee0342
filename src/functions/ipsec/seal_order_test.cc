// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/seal_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace penumbra::ipsec {
namespace {

constexpr std::uint64_t kForever = std::numeric_limits<std::uint64_t>::max();

SealGroup take(SequenceNumbers& numbers, std::uint32_t count) {
  const SequenceNumbers::Taken taken = numbers.take(count);
  return {&numbers, taken.first, taken.first + taken.count};
}

TEST(SealOrder, LetsTheFirstGroupGo) {
  SequenceNumbers numbers;
  numbers.add(1000, 100);
  SealGroup first[]{take(numbers, 64)}, second[]{take(numbers, 64)};
  EXPECT_EQ(await_turns(first, kForever), 0U);
  EXPECT_EQ(await_turns(second, kForever), 0U);
}

TEST(SealOrder, OvertakesAWorkerThatDoesNotCome) {
  SequenceNumbers numbers;
  numbers.add(1, 300);
  SealGroup first[]{take(numbers, 64)}, second[]{take(numbers, 64)}, third[]{take(numbers, 64)};
  EXPECT_EQ(await_turns(second, 1000), 1U);
  EXPECT_EQ(await_turns(third, kForever), 0U) << "only one group waits in vain";
  EXPECT_EQ(await_turns(first, kForever), 0U);
}

TEST(SealOrder, BeginsAgainAfterAGap) {
  SequenceNumbers numbers;
  numbers.add(1, 64);
  SealGroup lost[]{take(numbers, 64)};
  numbers.add(1'000'000, 64);
  SealGroup next[]{take(numbers, 64)};
  EXPECT_EQ(await_turns(next, kForever), 0U);
  EXPECT_EQ(await_turns(lost, kForever), 0U);
}

TEST(SealOrder, OfTwoSasDoesNotBlockTwoWorkers) {
  SequenceNumbers a, b;
  a.add(1, 200);
  b.add(1, 200);
  // Each worker is the first with one SA and the second with the other.
  const SealGroup a1 = take(a, 64), b1 = take(b, 64), a2 = take(a, 64), b2 = take(b, 64);
  std::vector<SealGroup> one{a1, b2}, other{a2, b1};
  std::jthread worker([&] { EXPECT_EQ(await_turns(one, kForever), 0U); });
  EXPECT_EQ(await_turns(other, kForever), 0U);
}

TEST(SealOrder, HoldsForManyWorkers) {
  constexpr std::uint64_t kNumbers = 20'000;
  constexpr int kWorkers = 4;
  SequenceNumbers numbers;
  numbers.add(1, kNumbers);
  std::mutex mutex;
  std::vector<std::uint64_t> sent;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (;;) {
      SealGroup group[]{take(numbers, 1 + random() % 64)};
      const auto [own, first, end] = group[0];
      if (first == end) return;
      for (unsigned pause = random() % 200; pause > 0; --pause) rte_pause();
      // The list is written before await_turns() lets the next group leave.
      while (!numbers.is_turn(first)) std::this_thread::yield();
      {
        const std::lock_guard lock(mutex);
        for (std::uint64_t number = first; number < end; ++number) sent.push_back(number);
      }
      EXPECT_EQ(await_turns(group, kForever), 0U);
    }
  };
  {
    std::vector<std::jthread> workers;
    workers.reserve(kWorkers);
    for (unsigned i = 0; i < kWorkers; ++i) workers.emplace_back(work, i);
  }
  EXPECT_EQ(sent.size(), kNumbers);
  EXPECT_TRUE(std::ranges::is_sorted(sent));
}

}  // namespace
}  // namespace penumbra::ipsec
