// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "functions/ipv4/ipv4.h"
#include "functions/ipv4/testing.h"
#include "tables/dir24_8/dir24_8.shader.h"

namespace penumbra::ipv4 {
namespace {

using namespace testing_support;
using Kind = FeedTarget::Kind;

FeedHop hop(std::uint16_t port, FeedHop::Gateway gateway = {}) {
  return {.port = port, .interface = port == FeedHop::kHost ? "eth0" : "", .gateway = gateway};
}

class FeedListenerTest : public testing::Test {
 protected:
  const NextHopSlot& slot(const std::string& address, std::uint32_t hash = 0) {
    const std::uint32_t destination = ip(address).value;
    std::uint16_t set = 0;
    dir24_8_lookup(*static_cast<const dir24_8_view*>(fib_.table().view()), &destination, &set, 1);
    return fib_.next_hops().slot(set, [hash] { return hash; });
  }
  void set(const std::string& prefix, Kind kind, std::vector<FeedHop> hops) {
    listener_.set_route(net(prefix), {.kind = kind, .hops = std::move(hops)});
    listener_.commit();
  }

  NoReaders no_readers_;
  std::vector<PortInfo> ports_ = router_ports();
  Ipv4Fib fib_{ports_, no_readers_};
  FeedListener listener_{fib_};
};

TEST_F(FeedListenerTest, EveryKindOfTargetIsWhatItSays) {
  set("20.0.0.0/8", Kind::unicast, {hop(0, ip("192.0.2.9"))});
  set("20.0.0.1/32", Kind::local, {hop(FeedHop::kHost)});
  set("20.0.0.2/32", Kind::broadcast, {hop(3)});
  set("20.0.1.0/24", Kind::blackhole, {});
  set("20.0.2.0/24", Kind::unreachable, {});
  set("20.0.3.0/24", Kind::unicast, {hop(FeedHop::kHost, ip("172.31.0.1"))});
  set("20.0.4.0/24", Kind::unicast, {hop(3, Ipv6Address{0xFE80000000000000, 1})});
  set("20.0.5.5/32", Kind::unicast, {hop(FeedHop::kHost)});
  EXPECT_EQ(slot("20.9.9.9").outcome, Outcome::unknown_neighbour);
  EXPECT_EQ(slot("20.0.0.1").outcome, Outcome::local);
  EXPECT_EQ(slot("20.0.0.2").outcome, Outcome::broadcast);
  EXPECT_EQ(slot("20.0.1.1").outcome, Outcome::blackhole);
  EXPECT_EQ(slot("20.0.2.1").outcome, Outcome::unreachable);
  EXPECT_EQ(slot("20.0.3.1").outcome, Outcome::via_host);
  EXPECT_EQ(slot("20.0.4.1").outcome, Outcome::via_host);
  EXPECT_EQ(slot("20.0.5.5").outcome, Outcome::via_host);
  EXPECT_EQ(slot("20.0.3.1").mtu, 0) << "so that the fast path looks at the outcome";
  EXPECT_EQ(fib_.lookup(ip("20.0.3.1")).value().target, "dev host");
  listener_.set_neighbour(0, ip("192.0.2.9"), {0xA9});
  EXPECT_EQ(slot("20.9.9.9").outcome, Outcome::forward);
  listener_.remove_neighbour(0, ip("192.0.2.9"));
  EXPECT_EQ(slot("20.9.9.9").outcome, Outcome::unknown_neighbour);
  listener_.remove_route(net("20.0.1.0/24"));
  EXPECT_EQ(slot("20.0.1.1").outcome, Outcome::unknown_neighbour) << "by the longer way's absence";
}

TEST_F(FeedListenerTest, FlowsAreSharedOutBetweenPortsAndTheHost) {
  set("20.0.0.0/8", Kind::unicast, {hop(0, ip("192.0.2.9")), hop(FeedHop::kHost)});
  listener_.set_neighbour(0, ip("192.0.2.9"), {0xA9});
  std::size_t sent = 0, punted = 0;
  for (std::uint32_t hash = 0; hash < kBuckets; ++hash) {
    const Outcome outcome = slot("20.1.1.1", hash).outcome;
    sent += outcome == Outcome::forward ? 1 : 0;
    punted += outcome == Outcome::via_host ? 1 : 0;
  }
  EXPECT_EQ(sent, kBuckets / 2);
  EXPECT_EQ(punted, kBuckets / 2);
}

TEST_F(FeedListenerTest, NeighboursOnALinkThatIsAlsoTheHostsAreFound) {
  set("20.0.0.0/8", Kind::unicast, {hop(3), hop(FeedHop::kHost)});
  listener_.set_neighbour(3, ip("20.1.1.1"), {0xA9});
  EXPECT_EQ(fib_.rows(net("20.1.1.1/32")).size(), 1U);
  std::size_t sent = 0;
  for (std::uint32_t hash = 0; hash < kBuckets; ++hash) sent += slot("20.1.1.1", hash).outcome == Outcome::forward;
  EXPECT_EQ(sent, kBuckets / 2);
}

TEST_F(FeedListenerTest, WhatFindsNoRoomIsTheHosts) {
  set("20.0.0.0/8", Kind::unicast, {hop(FeedHop::kHost)});
  const auto told = [&](std::uint32_t i) {
    listener_.set_route(Ipv4Prefix{{0x50000000 + i * 256}, 24},
                        {.kind = Kind::unicast, .hops = {hop(0, Ipv4Address{i + 1})}});
  };
  std::uint32_t count = 0;
  while (listener_.refused() == 0) told(count++);
  EXPECT_GT(count, 32'000U);
  const std::string last = to_string(Ipv4Address{0x50000000 + (count - 1) * 256 + 7});
  EXPECT_EQ(slot(last).outcome, Outcome::via_host);
  for (const std::uint32_t more : {0U, 1U, 2U}) told(count + more);
  listener_.commit();
  EXPECT_EQ(listener_.refused(), 4U);
  EXPECT_EQ(slot(last).outcome, Outcome::via_host);

  for (const std::uint32_t i : {0U, 1U, 2U}) listener_.remove_route(Ipv4Prefix{{0x50000000 + i * 256}, 24});
  listener_.commit();
  EXPECT_EQ(listener_.refused(), 1U);
  listener_.remove_route(Ipv4Prefix{{0x50000300}, 24});
  listener_.commit();
  EXPECT_EQ(listener_.refused(), 0U);
  EXPECT_EQ(slot(last).outcome, Outcome::unknown_neighbour);
}

TEST_F(FeedListenerTest, WhatFoundNoRoomAndGoesIsForgotten) {
  set("20.0.0.0/8", Kind::unicast, {hop(FeedHop::kHost)});
  std::uint32_t count = 0;
  const auto prefix = [](std::uint32_t i) { return Ipv4Prefix{{0x50000000 + i * 256}, 24}; };
  for (; listener_.refused() < 2; ++count) {
    listener_.set_route(prefix(count), {.kind = Kind::unicast, .hops = {hop(0, Ipv4Address{count + 1})}});
  }
  listener_.remove_route(prefix(count - 1));
  listener_.remove_route(prefix(0));
  listener_.commit();
  EXPECT_EQ(listener_.refused(), 0U);
  EXPECT_EQ(fib_.lookup(prefix(count - 1).address), std::nullopt);
  EXPECT_EQ(slot(to_string(prefix(count - 2).address)).outcome, Outcome::unknown_neighbour);
}

TEST_F(FeedListenerTest, ARouteThatCannotGoForWantOfRoomIsTheHosts) {
  set("20.0.0.0/8", Kind::unicast, {hop(3)});
  set("20.0.0.0/15", Kind::unicast, {hop(0, ip("192.0.2.9"))});
  // With the longer prefix no neighbour is on the link. With the shorter prefix each neighbour needs its own next hop.
  for (std::uint32_t i = 0; i < NextHops::kMaxSets; ++i) {
    listener_.set_neighbour(3, Ipv4Address{ip("20.0.0.1").value + i}, {0xA9});
  }
  ASSERT_EQ(listener_.refused(), 0U);
  listener_.remove_route(net("20.0.0.0/15"));
  listener_.commit();
  EXPECT_EQ(listener_.refused(), 1U);
  EXPECT_EQ(slot("20.0.0.1").outcome, Outcome::via_host);
}

}  // namespace
}  // namespace penumbra::ipv4
