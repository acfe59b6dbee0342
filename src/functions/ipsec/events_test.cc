// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/events.h"

#include <gtest/gtest.h>

namespace penumbra::ipsec {
namespace {

Event event_of(Event::Kind kind, std::uint64_t sa) {
  return {.kind = kind, .sa = sa, .policy = 0, .flow = {}};
}

TEST(EventRing, KeepsRoomForSasThatNeedNumbersInAFlood) {
  EventRing ring;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const bool is_acquire = i % 2 == 0;
    taken += ring.push(event_of(is_acquire ? Event::Kind::acquire : Event::Kind::mapping, i)) ? 1 : 0;
  }
  EXPECT_EQ(taken, EventRing::kSizeForFloods);
  EXPECT_EQ(ring.lost(Event::Kind::acquire) + ring.lost(Event::Kind::mapping), 10'000 - taken);
  for (std::uint64_t i = 0; i < EventRing::kSize - EventRing::kSizeForFloods; ++i) {
    EXPECT_TRUE(ring.push(event_of(Event::Kind::wants_numbers, i)));
  }
  EXPECT_EQ(ring.lost(Event::Kind::wants_numbers), 0U);
  EXPECT_FALSE(ring.push(event_of(Event::Kind::wants_numbers, 0)));
  EXPECT_EQ(ring.lost(Event::Kind::wants_numbers), 1U);
  Event event;
  std::uint64_t popped = 0;
  for (; ring.pop(event); ++popped) {
    if (popped < EventRing::kSizeForFloods) {
      EXPECT_EQ(event.sa, popped);
    }
  }
  EXPECT_EQ(popped, EventRing::kSize);
  EXPECT_TRUE(ring.push(event_of(Event::Kind::acquire, 1)));
}

}  // namespace
}  // namespace penumbra::ipsec
