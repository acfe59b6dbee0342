// SPDX-License-Identifier: Apache-2.0
//
// The ledger is only worth something if it notices every kind of mistake: each is made here on purpose.
#include "cli/verify/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verify/test_frames.h"

namespace penumbra::cli::verify {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr MacAddress kPortMac[] = {{0x020000000001}, {0x020000000002}};
constexpr MacAddress kNextHop{0x02AA00000001}, kOtherHop{0x02AA00000002};
constexpr std::uint32_t kOne = 0x0A000001;     // by kNextHop out of port 1
constexpr std::uint32_t kShared = 0x0B000001;  // by kNextHop or kOtherHop out of port 1
constexpr std::uint32_t kHalf = 0x0C000001;    // by kNextHop, or by one whose MAC address is not known
constexpr std::uint32_t kNarrow = 0x0D000001;  // out of port 1, or of port 0 with an MTU of 500

std::vector<PortInfo> ports() {
  return {{.name = "port0",
           .index = 0,
           .mac = kPortMac[0],
           .mtu = 500,
           .addresses = {{{0xC0A80001}, {{0xC0A80000}, 24}}},
           .ipv6_addresses = {}},
          {.name = "port1", .index = 1, .mac = kPortMac[1], .addresses = {}, .ipv6_addresses = {}}};
}

class LedgerTest : public testing::Test {
 protected:
  LedgerTest()
      : oracle_(ports(),
                control::parse_routes("10.0.0.0/8 via 192.0.2.1 dev port1\n"
                                      "10.1.0.0/16 via 192.0.2.9 dev port1 metric 20\n"
                                      "10.1.0.0/16 via 192.0.2.1 dev port1 metric 10\n"
                                      "11.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.2 dev port1\n"
                                      "12.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.9 dev port1\n"
                                      "13.0.0.0/8 nexthop via 192.0.2.1 dev port1 nexthop via 192.0.2.3 dev port0\n"
                                      "blackhole 14.0.0.0/8\nunreachable 15.0.0.0/8\n",
                                      "routes", {}),
                control::parse_neighbours("192.0.2.1 dev port1 lladdr 02:aa:00:00:00:01\n"
                                          "192.0.2.2 dev port1 lladdr 02:aa:00:00:00:02\n"
                                          "192.0.2.3 dev port0 lladdr 02:aa:00:00:00:03\n"
                                          "192.168.0.7 dev port0 lladdr 02:aa:00:00:00:07\n",
                                          "neighbours", {})) {}

  void receive(const TestPacket& packet, std::uint16_t port = 0) {
    ledger_.received(port, ++received_, make_frame(packet));
  }
  void send(const TestPacket& packet, MacAddress to = kNextHop, std::uint16_t port = 1) {
    send_bytes(make_routed(packet, to, kPortMac[port]), port);
  }
  void send_bytes(const Bytes& frame, std::uint16_t port = 1) { ledger_.sent(port, ++sent_, frame); }

  /// That the only differences are one of these.
  void expect_only(Difference difference, std::uint64_t times = 1) {
    const Findings findings = ledger_.close();
    EXPECT_EQ(findings.counts[static_cast<std::size_t>(difference)], times) << to_string(difference);
    EXPECT_EQ(findings.differences(), times) << testing::PrintToString(findings.examples);
  }
  void expect_unsent(const std::string& reason) {
    const Findings findings = ledger_.close();
    EXPECT_THAT(findings.unsent, testing::ElementsAre(testing::Pair(reason, 1)));
    EXPECT_EQ(findings.differences(), 0U);
  }

  Oracle oracle_;
  Ledger ledger_{oracle_};
  std::uint32_t received_ = 0, sent_ = 0;
};

TEST_F(LedgerTest, AgreesWithARightRouter) {
  for (std::uint8_t mark = 0; mark < 50; ++mark) receive({.mark = mark});
  for (std::uint8_t mark = 0; mark < 50; ++mark) send({.mark = mark});
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.differences(), 0U);
  EXPECT_EQ(findings.agreed, 50U);
}

TEST_F(LedgerTest, NoticesAMissingPacket) {
  receive({.mark = 1});
  receive({.mark = 2});
  send({.mark = 2});
  expect_only(Difference::missing);
}

TEST_F(LedgerTest, NoticesADuplicate) {
  receive({});
  send({});
  send({});
  expect_only(Difference::duplicate);
}

TEST_F(LedgerTest, NoticesAPacketFromNowhere) {
  receive({.mark = 1});
  send({.mark = 1});
  send({.mark = 2});
  expect_only(Difference::unexpected);
}

TEST_F(LedgerTest, NoticesEveryDamagedByte) {
  const TestPacket packet{.mark = 9};
  const Bytes right = make_routed(packet, kNextHop, kPortMac[1]);
  for (std::size_t at = 12; at < right.size(); ++at) {
    Ledger ledger(oracle_);
    ledger.received(0, 1, make_frame(packet));
    Bytes wrong = right;
    wrong[at] ^= 0x10;
    ledger.sent(1, 1, wrong);
    const Findings findings = ledger.close();
    EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::unexpected)], 1U) << "byte " << at;
    EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::missing)], 1U) << "byte " << at;
  }
}

TEST_F(LedgerTest, NoticesAnUntouchedTimeToLive) {
  receive({.ttl = 64});
  send({.ttl = 65});
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::unexpected)], 1U);
}

TEST_F(LedgerTest, NoticesACutOrPaddedFrame) {
  receive({.mark = 1});
  Bytes frame = make_routed({.mark = 1}, kNextHop, kPortMac[1]);
  frame.push_back(0);
  send_bytes(frame);
  frame.resize(frame.size() - 2);
  send_bytes(frame);
  send_bytes(Bytes(5));
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::unexpected)], 3U);
}

TEST_F(LedgerTest, NoticesTheWrongPort) {
  receive({});
  send({}, kNextHop, 0);
  expect_only(Difference::wrong_port);
}

TEST_F(LedgerTest, NoticesTheWrongNextHop) {
  receive({});
  send({}, kOtherHop);
  expect_only(Difference::wrong_mac);
}

TEST_F(LedgerTest, NoticesTheWrongSourceAddress) {
  receive({});
  send_bytes(make_routed({}, kNextHop, kPortMac[0]));
  expect_only(Difference::wrong_mac);
}

TEST_F(LedgerTest, NoticesThatTwoPacketsOfAFlowAreSwapped) {
  receive({.mark = 1});
  receive({.mark = 2});
  send({.mark = 2});
  send({.mark = 1});
  expect_only(Difference::reordered);
}

TEST_F(LedgerTest, LetsDifferentFlowsOvertakeEachOther) {
  receive({.source_port = 1});
  receive({.source_port = 2});
  send({.source_port = 2});
  send({.source_port = 1});
  expect_only(Difference::reordered, 0);
}

TEST_F(LedgerTest, LetsOneFlowFromTwoPortsMixButKeepsEachOrder) {
  receive({.mark = 1}, 0);
  receive({.mark = 2}, 0);
  receive({.mark = 3}, 1);
  receive({.mark = 4}, 1);
  send({.mark = 3});
  send({.mark = 1});
  send({.mark = 2});
  send({.mark = 4});
  expect_only(Difference::reordered, 0);
}

TEST_F(LedgerTest, CountsEqualPackets) {
  for (int i = 0; i < 3; ++i) receive({});
  for (int i = 0; i < 2; ++i) send({});
  expect_only(Difference::missing);
}

TEST_F(LedgerTest, TakesAnyNextHopOfASetButOnePerFlow) {
  receive({.destination = kShared, .source_port = 1, .mark = 1});
  receive({.destination = kShared, .source_port = 1, .mark = 2});
  receive({.destination = kShared, .source_port = 2});
  send({.destination = kShared, .source_port = 1, .mark = 1}, kNextHop);
  send({.destination = kShared, .source_port = 2}, kOtherHop);
  send({.destination = kShared, .source_port = 1, .mark = 2}, kOtherHop);
  expect_only(Difference::split_flow);
}

TEST_F(LedgerTest, LetsAWholeFlowGoToAnUnknownNeighbour) {
  receive({.destination = kHalf, .source_port = 1, .mark = 1});
  receive({.destination = kHalf, .source_port = 1, .mark = 2});
  expect_only(Difference::missing, 0);
}

TEST_F(LedgerTest, DoesNotLetHalfAFlowGoToAnUnknownNeighbour) {
  receive({.destination = kHalf, .source_port = 1, .mark = 1});
  receive({.destination = kHalf, .source_port = 1, .mark = 2});
  send({.destination = kHalf, .source_port = 1, .mark = 1});
  expect_only(Difference::missing);
}

TEST_F(LedgerTest, MindsTheMtuOfTheNextHopThatAFlowTook) {
  const TestPacket small{.destination = kNarrow}, large{.destination = kNarrow, .payload_bytes = 600};
  receive(small);
  receive(large);
  send(small, {0x02AA00000003}, 0);
  expect_only(Difference::missing, 0);
}

TEST_F(LedgerTest, DoesNotLetAPacketOutThatIsTooLong) {
  const TestPacket large{.destination = kNarrow, .payload_bytes = 600};
  receive(large);
  send(large, {0x02AA00000003}, 0);
  expect_only(Difference::wrong_port);
}

TEST_F(LedgerTest, TakesTheLongestPrefixAndTheLowestMetric) {
  receive({.destination = 0x0A010001});
  send({.destination = 0x0A010001}, kNextHop);
  expect_only(Difference::wrong_mac, 0);
}

TEST_F(LedgerTest, SendsToANeighbourOnAConnectedNetwork) {
  receive({.destination = 0xC0A80007});
  send({.destination = 0xC0A80007}, {0x02AA00000007}, 0);
  expect_only(Difference::missing, 0);
}

TEST_F(LedgerTest, SendsNothingToTheRouterItself) {
  receive({.destination = 0xC0A80001}), expect_unsent("local");
}
TEST_F(LedgerTest, SendsNothingToAConnectedNetworkAsSuch) {
  receive({.destination = 0xC0A80000}), expect_unsent("broadcast");
}
TEST_F(LedgerTest, SendsNoDirectedBroadcast) {
  receive({.destination = 0xC0A800FF}), expect_unsent("broadcast");
}
TEST_F(LedgerTest, SendsNothingToAnUnknownNeighbour) {
  receive({.destination = 0xC0A80008}), expect_unsent("unknown_neighbour");
}
TEST_F(LedgerTest, SendsNothingWithoutARoute) {
  receive({.destination = 0x10000001}), expect_unsent("no_route");
}
TEST_F(LedgerTest, SendsNothingIntoABlackHole) {
  receive({.destination = 0x0E000001}), expect_unsent("blackhole");
}
TEST_F(LedgerTest, SendsNothingToTheUnreachable) {
  receive({.destination = 0x0F000001}), expect_unsent("unreachable");
}
TEST_F(LedgerTest, SendsNothingThatExpires) {
  receive({.destination = kOne, .ttl = 1}), expect_unsent("ttl_expired");
}
TEST_F(LedgerTest, SendsNothingThatIsTooLong) {
  receive({.destination = kOne, .payload_bytes = 1473}), expect_unsent("fragmentation_needed");
}

TEST_F(LedgerTest, NoticesAPacketThatShouldHaveBeenDropped) {
  receive({.destination = 0x0E000001});
  send({.destination = 0x0E000001});
  expect_only(Difference::unexpected);
}

/// Port 0, which has the smallest MTU, would have to cut what follows the packet; port 1 need not, up to its own MTU.
TEST_F(LedgerTest, KnowsHowLongAFrameMayLeave) {
  const auto with_trailer = [](Bytes frame, std::size_t bytes) {
    frame.resize(bytes, 0xEE);
    return frame;
  };
  const TestPacket packet{.destination = kOne};
  const Bytes frame = make_frame(packet), routed = make_routed(packet, kNextHop, kPortMac[1]);
  for (const std::size_t bytes : {14 + 500, 14 + 1500, 14 + 1501})
    ledger_.received(0, ++received_, with_trailer(frame, bytes));
  send_bytes(with_trailer(routed, 14 + 500));
  send_bytes(with_trailer(routed, 14 + 1500));
  send_bytes(with_trailer(routed, 14 + 1501));
  expect_only(Difference::unexpected);
}

}  // namespace
}  // namespace penumbra::cli::verify
