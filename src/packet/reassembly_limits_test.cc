// SPDX-License-Identifier: Apache-2.0
//
// Tests the limits of reassembly: time, datagrams, fragments and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "packet/fragment_testing.h"
#include "packet/reassembly.h"

namespace penumbra {
namespace {

using namespace packet_testing;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::SizeIs;
using Reason = ReassemblyReason;

TEST(ReassemblyLimits, ExpiresDatagramsByTheirFirstFragment) {
  ReassemblyTester tester;
  const Bytes first = ipv4_fragment(pattern(8), 0, kMore);
  tester.now = 1'000'000'000;
  EXPECT_TRUE(tester.add(first).is_held());
  tester.now = 20'000'000'000;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 16, 0)).is_held());
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(8), 0, true)).is_held());
  tester.now = 30'999'999'999;
  tester.expire();
  EXPECT_EQ(tester->held(), 3U);
  tester.now = 31'000'000'000;
  tester.expire();
  EXPECT_EQ(tester->held(), 1U);
  const auto handed_back = tester.take_handed_back();
  ASSERT_THAT(handed_back, SizeIs(2));
  EXPECT_EQ(handed_back[0], (ReassemblyTester::HandedBack{first, Reason::timeout}));
}

TEST(ReassemblyLimits, JoinsNothingAfterTheTimeout) {
  ReassemblyTester tester({.timeout = 100});
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore)).is_held());
  tester.now = 100;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0)).is_held());
  EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::timeout));
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore)).is_completed());
}

TEST(ReassemblyLimits, BearsAClockThatGoesBack) {
  ReassemblyTester tester({.timeout = 100});
  tester.now = 1000;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore)).is_held());
  tester.now = 10;
  tester.expire();
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0)).is_completed());
}

TEST(ReassemblyLimits, EvictsTheOldestDatagramForANewOne) {
  ReassemblyTester tester({.datagrams = 4});
  for (std::size_t i = 0; i < 4; ++i) {
    tester.now = i;
    EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, i)).is_held());
  }
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 16, kMore, 0)).is_held());  // does not make datagram 0 younger
  tester.now = 5;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, 100)).is_held());
  EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::no_room, Reason::no_room));
  EXPECT_EQ(tester->datagrams(), 4U);
  for (const std::size_t i : {1, 2, 3, 100}) EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0, i)).is_completed());
}

TEST(ReassemblyLimits, EvictsDroppedDatagramsByAgeToo) {
  ReassemblyTester tester({.datagrams = 2});
  EXPECT_TRUE(tester.add(ipv6_fragment(pattern(16), 0, true)).is_held());
  EXPECT_EQ(tester.add(ipv6_fragment(pattern(16), 8, true)).reason(), Reason::overlap);
  tester.take_reasons();
  tester.now = 1;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, 1)).is_held());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, 2)).is_held());
  EXPECT_THAT(tester.take_reasons(), IsEmpty());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, 3)).is_held());
  EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::no_room));
}

TEST(ReassemblyLimits, EvictsTheOldestDatagramsForMemory) {
  ReassemblyTester tester({.memory = std::size_t{1} << 20, .datagrams = 1000});
  const std::size_t limit = std::size_t{1} << 20;
  std::size_t evicted = 0, newest = 0;
  for (; newest < 900; ++newest) {
    EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, newest)).is_held());
    EXPECT_LE(tester->memory(), limit);
    const auto reasons = tester.take_reasons();
    EXPECT_THAT(reasons, Each(Reason::no_memory));
    evicted += reasons.size();
  }
  EXPECT_GT(evicted, 0U);
  EXPECT_EQ(tester->held(), 900 - evicted);
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0, evicted)).is_completed());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), 8, 0, newest - 1)).is_completed());
}

/// One datagram cannot take more than all memory, and does not evict itself.
TEST(ReassemblyLimits, RefusesFragmentsOfADatagramThatFillsTheMemory) {
  ReassemblyTester tester({.memory = std::size_t{512} << 10, .datagrams = 4, .fragments = 1000});
  std::size_t held = 0;
  while (tester.add(ipv4_fragment(pattern(8), held * 8, kMore)).is_held()) ++held;
  EXPECT_GT(held, 100U);
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), held * 8, kMore)).reason(), Reason::no_memory);
  EXPECT_EQ(tester->held(), held);
  EXPECT_THAT(tester.take_reasons(), IsEmpty());
}

TEST(ReassemblyLimits, BoundsTheFragmentsOfADatagram) {
  ReassemblyTester tester({.fragments = 8});
  for (std::size_t i = 0; i < 8; ++i) EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8), i * 8, kMore)).is_held());
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), 64, kMore)).reason(), Reason::too_many_fragments);
  EXPECT_THAT(tester.take_reasons(), ElementsAreArray(std::vector(8, Reason::too_many_fragments)));
  EXPECT_EQ(tester.add(ipv4_fragment(pattern(8), 72, 0)).reason(), Reason::too_many_fragments);
}

/// The second part of a split fragment is a copy, which counts as memory but not as a fragment.
TEST(ReassemblyLimits, DropsTheDatagramIfACopyFails) {
  for (const auto policy : {OverlapPolicy::last, OverlapPolicy::first}) {
    ReassemblyTester tester({}, 2);
    tester.policy = policy;
    const Bytes outer = ipv4_fragment(pattern(24), 0, kMore), inner = ipv4_fragment(pattern(8, 1), 8, kMore);
    EXPECT_TRUE(tester.add(policy == OverlapPolicy::last ? outer : inner).is_held());
    EXPECT_EQ(tester.add(policy == OverlapPolicy::last ? inner : outer).reason(), Reason::no_mbuf);
    EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::no_mbuf));
    EXPECT_EQ(tester->datagrams(), 0U);
  }
}

TEST(ReassemblyLimits, FreesCopiesWithTheirDatagram) {
  ReassemblyTester tester;
  tester.policy = OverlapPolicy::last;
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(24), 0, kMore)).is_held());
  EXPECT_TRUE(tester.add(ipv4_fragment(pattern(8, 1), 8, kMore)).is_held());
  EXPECT_EQ(tester->held(), 2U);
  EXPECT_EQ(tester.pool().in_use(), 3U);
  tester.flush();
  EXPECT_THAT(tester.take_reasons(), ElementsAre(Reason::flushed, Reason::flushed));
}

TEST(ReassemblyLimits, FindsItsWayThroughManyDatagrams) {
  ReassemblyTester tester({.memory = std::size_t{64} << 20, .datagrams = 5000}, 6000, 512);
  for (std::size_t i = 0; i < 5000; ++i) ASSERT_TRUE(tester.add(ipv4_fragment(pattern(8), 0, kMore, i)).is_held());
  EXPECT_EQ(tester->datagrams(), 5000U);
  for (std::size_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(tester.add(ipv4_fragment(pattern(8, 1), 8, 0, i * 7 % 5000)).is_completed());
  }
}

TEST(ReassemblyLimits, RefusesLimitsWithoutRoomForADatagram) {
  const TestPool pool;
  EXPECT_THROW(Reassembly({.memory = 100000}, {}, *pool), std::invalid_argument);
  EXPECT_THROW(Reassembly({.datagrams = 0}, {}, *pool), std::invalid_argument);
  EXPECT_THROW(Reassembly({.fragments = 0}, {}, *pool), std::invalid_argument);
}

}  // namespace
}  // namespace penumbra
