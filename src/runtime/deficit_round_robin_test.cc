// SPDX-License-Identifier: Apache-2.0
#include "runtime/deficit_round_robin.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"

namespace penumbra::runtime {
namespace {

constexpr std::int64_t kShare = 1000;

/// Simulates queues that always or sometimes have a chunk of a given cost, and sums up the work for each queue.
struct World {
  struct Queue {
    std::uint64_t cost = 0;
    std::uint32_t one_of = 1;  ///< The queue has a chunk with probability 1 / one_of; 0: never.
    std::uint64_t worked = 0;
    std::uint64_t chunks = 0;
  };

  void run(std::size_t rounds) {
    for (std::size_t i = 0; i < rounds; ++i) {
      bool received = false;
      for (std::size_t queue = 0; queue < queues.size(); ++queue) {
        if (!turns.may_receive(queue)) continue;
        Queue& at = queues[queue];
        if (at.one_of == 0 || random.below(at.one_of) != 0) {
          turns.was_empty(queue);
          continue;
        }
        received = true;
        at.worked += at.cost;
        ++at.chunks;
        turns.charge(queue, at.cost);
      }
      const bool passed_over = turns.end_round(received);
      if (!received && !passed_over) ++idle_rounds;
    }
  }

  explicit World(std::vector<Queue> of) : queues(std::move(of)), turns(queues.size(), kShare) {}
  std::vector<Queue> queues;
  DeficitRoundRobin turns;
  Random random{1};
  std::size_t idle_rounds = 0;
};

TEST(DeficitRoundRobin, QueuesThatAlwaysHaveChunksGetTheSameTimeWhateverAChunkCosts) {
  World world({{.cost = 300}, {.cost = 2500}, {.cost = 40'000}});
  world.run(1'000'000);
  // A queue may receive one chunk a round. The other queues share the time that cheap chunks leave, in equal parts.
  EXPECT_EQ(world.queues[0].chunks, 1'000'000U);
  EXPECT_NEAR(static_cast<double>(world.queues[1].worked), static_cast<double>(world.queues[2].worked), 100'000);
  World equal({{.cost = 1500}, {.cost = 2500}, {.cost = 40'000}});
  equal.run(1'000'000);
  EXPECT_NEAR(static_cast<double>(equal.queues[0].worked), static_cast<double>(equal.queues[2].worked), 100'000);
  EXPECT_NEAR(static_cast<double>(equal.queues[1].worked), static_cast<double>(equal.queues[2].worked), 100'000);
}

TEST(DeficitRoundRobin, AQueueThatIsAloneIsPassedOverAtMostEverySecondRound) {
  World world({{.one_of = 0}, {.one_of = 0}, {.cost = 40'000}});
  world.run(1000);
  EXPECT_GE(world.queues[2].chunks, 500U);
  EXPECT_EQ(world.idle_rounds, 0U) << "its worker does not rest while it has packets";
}

TEST(DeficitRoundRobin, WhatAnEmptyQueueDoesNotUseIsNotSavedUp) {
  DeficitRoundRobin turns(2, kShare);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(turns.may_receive(0));
    turns.was_empty(0);
    EXPECT_FALSE(turns.end_round(false));
  }
  ASSERT_TRUE(turns.may_receive(0));
  turns.charge(0, 3 * kShare);
  EXPECT_FALSE(turns.end_round(true));
  EXPECT_FALSE(turns.may_receive(0));
  EXPECT_TRUE(turns.end_round(true));
}

TEST(DeficitRoundRobin, ALostCoreIsSoonForgiven) {
  DeficitRoundRobin turns(2, kShare);
  ASSERT_TRUE(turns.may_receive(0));
  turns.charge(0, UINT64_MAX);
  int rounds = 0;
  for (; !turns.may_receive(0); ++rounds) EXPECT_TRUE(turns.end_round(true));
  EXPECT_EQ(rounds, 63);
}

}  // namespace
}  // namespace penumbra::runtime
