// SPDX-License-Identifier: Apache-2.0
#include "functions/learning/learner.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace penumbra {
namespace {

using std::chrono::milliseconds;

struct Seen {
  std::uint32_t worker = 0;
  std::uint32_t number = 0;
};

TEST(LearnerTest, TakesAllThatWasToldInEachWorkersOrder) {
  constexpr std::uint32_t kWorkers = 3, kEach = 20'000;
  std::array<std::uint32_t, kWorkers> next{};
  std::uint64_t out_of_order = 0;
  {
    Learner<Seen> learner("learner", kWorkers, 1000, milliseconds(1), [&](std::span<const Seen> events) {
      for (const Seen& seen : events) {
        if (seen.number != next[seen.worker]++) ++out_of_order;
      }
    });
    learner.start();
    std::vector<std::jthread> workers;
    workers.reserve(kWorkers);
    for (std::uint32_t worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&learner, worker] {
        for (std::uint32_t number = 0; number < kEach; ++number) {
          while (!learner.report(worker, {worker, number})) std::this_thread::yield();
        }
      });
    }
    workers.clear();
  }
  EXPECT_EQ(out_of_order, 0U);
  for (const std::uint32_t told : next) EXPECT_EQ(told, kEach);
}

TEST(LearnerTest, SaysSoWhenTooMuchIsWaiting) {
  std::vector<std::uint32_t> taken;
  constexpr std::uint32_t kCapacity = 1023;  // A ring has exactly this capacity if it is a power of two minus one.
  {
    Learner<std::uint32_t> learner(
        "learner", 1, kCapacity, milliseconds(1),
        [&](std::span<const std::uint32_t> events) { taken.insert(taken.end(), events.begin(), events.end()); });
    for (std::uint32_t i = 0; i < kCapacity; ++i) ASSERT_TRUE(learner.report(0, i));
    EXPECT_FALSE(learner.report(0, kCapacity));
    learner.start();
  }
  ASSERT_EQ(taken.size(), kCapacity);
  for (std::uint32_t i = 0; i < kCapacity; ++i) EXPECT_EQ(taken[i], i);
}

TEST(LearnerTest, TakesItsTurnsWithNothingToLearn) {
  std::atomic<int> turns = 0;
  Learner<std::uint32_t> learner("learner", 1, 1, milliseconds(1),
                                 [&](std::span<const std::uint32_t> events) { turns += events.empty() ? 1 : 0; });
  learner.start();
  while (turns < 3) std::this_thread::yield();
}

TEST(LearnerTest, TakesItsTurnsAlsoWhileItIsToldWithoutPause) {
  std::atomic<int> turns = 0;
  Learner<std::uint32_t> learner("learner", 1, 1000, milliseconds(1),
                                 [&](std::span<const std::uint32_t> events) { turns += events.empty() ? 1 : 0; });
  learner.start();
  while (turns < 3) learner.report(0, 1);
}

TEST(LearnerTest, EndsWithoutHavingBegun) {
  Learner<std::uint32_t> learner("learner", 1, 1, milliseconds(1), [](std::span<const std::uint32_t>) {});
  EXPECT_TRUE(learner.report(0, 1));
}

}  // namespace
}  // namespace penumbra
