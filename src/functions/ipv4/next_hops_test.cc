// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "base/testing_grace_periods.h"
#include "functions/ipv4/ipv4.h"
#include "functions/ipv4/testing.h"

namespace penumbra::ipv4 {
namespace {

using namespace testing_support;

Target unicast(std::initializer_list<Hop> hops) {
  return {Target::Kind::unicast, hops};
}
Hop hop(std::uint16_t port, std::uint32_t gateway, std::uint16_t weight = 1) {
  return {.port = port, .gateway = Ipv4Address{gateway}, .weight = weight};
}
std::uint64_t mac_of(const NextHopSlot& slot) {
  return oracle::mac(oracle::Bytes(slot.addresses.begin(), slot.addresses.end()), 0);
}

class NextHopsTest : public testing::Test {
 protected:
  const NextHopSlot& slot(NextHops::SetId set, std::uint32_t hash = 0) {
    return next_hops_.view().slot(set, [hash] { return hash; });
  }
  void commit() {
    next_hops_.retire();
    next_hops_.reclaim(false);
  }

  ManualGracePeriods grace_periods_;
  std::vector<PortInfo> ports_ = router_ports();
  NextHops next_hops_{grace_periods_, ports_};
};

TEST_F(NextHopsTest, EqualTargetsShareASet) {
  const auto a = next_hops_.acquire(unicast({hop(0, 1)}));
  EXPECT_EQ(next_hops_.acquire(unicast({hop(0, 1)})), a);
  EXPECT_NE(next_hops_.acquire(unicast({hop(1, 1)})), a);
  EXPECT_EQ(next_hops_.sets(), 2U);
  next_hops_.release(a);
  EXPECT_EQ(next_hops_.sets(), 2U);
  next_hops_.release(a);
  EXPECT_EQ(next_hops_.sets(), 1U);
}

TEST_F(NextHopsTest, EverySlotSaysWhatToDo) {
  EXPECT_EQ(slot(Dir24_8::kNoRoute).outcome, Outcome::no_route);
  const auto outcome_of = [this](Target::Kind kind) { return slot(next_hops_.acquire({kind, {}})).outcome; };
  EXPECT_EQ(outcome_of(Target::Kind::local), Outcome::local);
  EXPECT_EQ(outcome_of(Target::Kind::broadcast), Outcome::broadcast);
  EXPECT_EQ(outcome_of(Target::Kind::blackhole), Outcome::blackhole);
  EXPECT_EQ(outcome_of(Target::Kind::unreachable), Outcome::unreachable);

  const auto set = next_hops_.acquire(unicast({hop(2, 7)}));
  EXPECT_EQ(slot(set).outcome, Outcome::unknown_neighbour);
  EXPECT_EQ(slot(set).mtu, 0);
  EXPECT_TRUE(next_hops_.set_neighbour(2, {7}, {0xABC}));
  EXPECT_FALSE(next_hops_.set_neighbour(2, {7}, {0xABC}));
  EXPECT_EQ(slot(set).outcome, Outcome::forward);
  EXPECT_EQ(slot(set).mtu, 576);
  EXPECT_EQ(slot(set).port, 2);
  EXPECT_EQ(mac_of(slot(set)), 0xABCU);
  EXPECT_TRUE(next_hops_.remove_neighbour(2, {7}));
  EXPECT_FALSE(next_hops_.remove_neighbour(2, {7}));
  EXPECT_EQ(slot(set).outcome, Outcome::unknown_neighbour);
}

TEST_F(NextHopsTest, BucketsHoldTheWeightsExactlyAndFollowNeighbours) {
  next_hops_.set_neighbour(0, {1}, {0xA1});
  next_hops_.set_neighbour(1, {2}, {0xA2});
  const auto set = next_hops_.acquire(unicast({hop(0, 1, 3), hop(1, 2, 1), hop(0, 1, 4)}));
  const auto count = [&] {
    std::map<std::uint64_t, int> buckets;
    for (std::uint32_t hash = 0; hash < kBuckets; ++hash) ++buckets[mac_of(slot(set, hash))];
    return buckets;
  };
  EXPECT_EQ(count(), (std::map<std::uint64_t, int>{{0xA1, 896}, {0xA2, 128}}));
  next_hops_.set_neighbour(0, {1}, {0xB1});
  EXPECT_EQ(count(), (std::map<std::uint64_t, int>{{0xB1, 896}, {0xA2, 128}}));
}

TEST_F(NextHopsTest, NothingIsReusedBeforeItsGracePeriod) {
  next_hops_.set_neighbour(0, {1}, {0xA1});
  next_hops_.set_neighbour(1, {2}, {0xA2});
  const auto single = next_hops_.acquire(unicast({hop(0, 1)}));
  const auto shared = next_hops_.acquire(unicast({hop(0, 1), hop(1, 2)}));
  const NextHopSlot* const held = &slot(single);
  next_hops_.set_neighbour(0, {1}, {0xB1});
  next_hops_.release(single);
  next_hops_.release(shared);
  // An earlier reader must still find valid slots, whatever else happens.
  for (std::uint32_t i = 0; i < 3000; ++i) {
    next_hops_.set_neighbour(2, {i % 40}, {0xC0 + i});
    const auto other = next_hops_.acquire(unicast({hop(2, i % 40), hop(2, 1000 + i)}));
    EXPECT_NE(other, single);
    EXPECT_NE(other, shared);
    next_hops_.release(other);
    if (i % 10 == 0) commit();
  }
  EXPECT_EQ(mac_of(*held), 0xA1U);
  EXPECT_EQ(mac_of(slot(single)), 0xB1U);
  for (std::uint32_t hash = 0; hash < kBuckets; ++hash) {
    EXPECT_TRUE(mac_of(slot(shared, hash)) == 0xB1 || mac_of(slot(shared, hash)) == 0xA2);
  }

  commit();
  grace_periods_.end_all();
  commit();
  std::set<NextHops::SetId> reused;
  for (std::uint32_t i = 0; i < NextHops::kMaxSets; ++i) reused.insert(next_hops_.acquire(unicast({hop(3, i)})));
  EXPECT_TRUE(reused.contains(single));
  EXPECT_TRUE(reused.contains(shared));
}

TEST_F(NextHopsTest, HasClearLimits) {
  for (std::uint32_t i = 0; i < NextHops::kMaxSets; ++i) next_hops_.acquire(unicast({hop(0, i)}));
  EXPECT_THROW(next_hops_.acquire(unicast({hop(1, 0)})), std::length_error);
  EXPECT_THROW(next_hops_.acquire(unicast({hop(0, 0), hop(0, 1)})), std::length_error);
  next_hops_.release(0);
  EXPECT_THROW(next_hops_.acquire(unicast({hop(1, 0)})), std::length_error) << "still waits for its grace period";
  EXPECT_FALSE(next_hops_.has_room());
  next_hops_.retire();
  next_hops_.reclaim(true);
  EXPECT_TRUE(next_hops_.has_room());
  EXPECT_THROW(next_hops_.acquire(unicast({hop(1, 0), hop(1, 1)})), std::length_error) << "one link too many";
  EXPECT_EQ(next_hops_.acquire(unicast({hop(1, 0)})), 0);
  EXPECT_EQ(next_hops_.sets(), NextHops::kMaxSets);

  Target wide{Target::Kind::unicast, {}};
  for (std::uint32_t i = 0; i <= NextHops::kMaxHops; ++i) wide.hops.push_back(hop(0, i));
  EXPECT_THROW(next_hops_.acquire(wide), std::invalid_argument);
}

TEST_F(NextHopsTest, LinksCountOnce) {
  // All pairs of 200 gateways need many sets but few links.
  for (std::uint32_t a = 0; a < 200; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) next_hops_.acquire(unicast({hop(0, a), hop(0, b)}));
  }
  EXPECT_EQ(next_hops_.sets(), 19'900U);
  for (std::uint32_t a = 0; a < 200; ++a) next_hops_.set_neighbour(0, {a}, {0x100 + a});
  const auto set = next_hops_.acquire(unicast({hop(0, 9), hop(0, 3)}));
  for (std::uint32_t hash = 0; hash < kBuckets; ++hash) {
    const auto mac = mac_of(slot(set, hash));
    EXPECT_TRUE(mac == 0x109 || mac == 0x103);
  }
}

}  // namespace
}  // namespace penumbra::ipv4
