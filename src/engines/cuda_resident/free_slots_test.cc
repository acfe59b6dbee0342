// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/free_slots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <set>

namespace penumbra::cuda_resident {
namespace {

class FreeSlotsOf : public testing::TestWithParam<std::uint32_t> {};

/// Frees slots in the order in which a worker gets batches back, with a random number of batches in flight.
TEST_P(FreeSlotsOf, NeverGiveTheSameSlotTwice) {
  const std::uint32_t count = GetParam();
  FreeSlots free(count);
  std::deque<std::uint32_t> taken;
  std::mt19937 random(count);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint32_t wanted = random() % (count + 1);
    while (taken.size() > wanted) {
      free.give_back(taken.front());
      taken.pop_front();
    }
    while (taken.size() < wanted) {
      taken.push_back(free.take());
      ASSERT_LT(taken.back(), count);
    }
    ASSERT_EQ(std::set<std::uint32_t>(taken.begin(), taken.end()).size(), taken.size());
  }
}

TEST_P(FreeSlotsOf, AreFewForFewBatches) {
  const std::uint32_t count = GetParam();
  FreeSlots free(count);
  std::deque<std::uint32_t> taken;
  for (std::uint32_t i = 0; i < count; ++i) taken.push_back(free.take());
  for (const std::uint32_t in_flight : {count, count / 2, count / 10, 1U}) {
    std::set<std::uint32_t> used;
    while (taken.size() >= in_flight && !taken.empty()) {
      free.give_back(taken.front());
      taken.pop_front();
    }
    for (std::uint32_t i = 0; i < 10 * count; ++i) {
      taken.push_back(free.take());
      used.insert(taken.back());
      free.give_back(taken.front());
      taken.pop_front();
    }
    EXPECT_LE(used.size(), in_flight + FreeSlots::kAside);
  }
}

TEST(FreeSlots, LieAsideForAsLongAsOthersAreThere) {
  FreeSlots free(10);
  const std::uint32_t first = free.take();
  free.give_back(first);
  for (std::uint32_t i = 1; i < FreeSlots::kAside; ++i) {
    const std::uint32_t next = free.take();
    EXPECT_NE(next, first) << i;
    free.give_back(next);
  }
  EXPECT_EQ(free.take(), first);
}

INSTANTIATE_TEST_SUITE_P(Counts, FreeSlotsOf, testing::Values(1, 2, 4, 5, 16, 144));

}  // namespace
}  // namespace penumbra::cuda_resident
