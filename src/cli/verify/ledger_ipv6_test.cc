// SPDX-License-Identifier: Apache-2.0
//
// Differences that the ledger detects for IPv6, and for both families in one pipeline.
#include <memory>

#include "cli/verify/ledger_testing.h"

namespace penumbra::cli::verify {
namespace {

TEST_F(Ipv6LedgerTest, NoticesAMissingPacketAndNamesIt) {
  receive({.mark = 1});
  receive({.mark = 2, .label = 0x1234});
  send({.mark = 1});
  const Findings findings = ledger_.close();
  EXPECT_THAT(findings.examples,
              testing::ElementsAre("never sent: packet 2 received on port0 (2001:db8:ff::1 > 2001:db8:10::1, "
                                   "flow label 0x01234)"));
}

TEST_F(Ipv6LedgerTest, NoticesEveryDamagedByte) {
  const TestIpv6Packet packet{.mark = 9, .label = 0x54321};
  const Bytes right = make_routed(packet, kNextHop, kPortMac[1]);
  for (std::size_t at = 0; at < right.size(); ++at) {
    Ledger ledger(oracle_);
    ledger.received(0, 1, make_frame(packet));
    Bytes wrong = right;
    wrong[at] ^= 0x10;
    ledger.sent(1, 1, wrong);
    const Findings findings = ledger.close();
    const Difference difference = at < 12 ? Difference::wrong_mac : Difference::unexpected;
    EXPECT_EQ(findings.counts[static_cast<std::size_t>(difference)], 1U) << "byte " << at;
    EXPECT_EQ(findings.agreed, 0U) << "byte " << at;
  }
}

TEST_F(Ipv6LedgerTest, NoticesAnUntouchedHopLimit) {
  receive({.hop_limit = 64});
  send({.hop_limit = 65});
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::unexpected)], 1U);
}

TEST_F(Ipv6LedgerTest, NoticesThatTwoPacketsOfAFlowAreSwapped) {
  for (const std::uint32_t label : {0U, 7U}) {
    receive({.mark = 1, .label = label});
    receive({.mark = 2, .label = label});
  }
  for (const std::uint32_t label : {0U, 7U}) {
    send({.mark = 2, .label = label});
    send({.mark = 1, .label = label});
  }
  expect_only(Difference::reordered, 2);
}

TEST_F(Ipv6LedgerTest, LetsDifferentFlowsAndDifferentContentsOfOneLabelOvertakeEachOther) {
  receive({.source_port = 1});
  receive({.source_port = 2});
  receive({.label = 7});
  receive({.label = 7, .next_header = 59});
  send({.label = 7, .next_header = 59});
  send({.source_port = 2});
  send({.label = 7});
  send({.source_port = 1});
  expect_only(Difference::reordered, 0);
}

TEST_F(Ipv6LedgerTest, TakesALabelForAFlowWhateverItCarries) {
  receive({.destination = kSharedSite, .source_port = 1, .label = 7});
  receive({.destination = kSharedSite, .source_port = 2, .label = 7});
  receive({.destination = kSharedSite, .label = 7, .next_header = 59});
  receive({.destination = kSharedSite, .label = 8});
  send({.destination = kSharedSite, .source_port = 1, .label = 7}, kNextHop);
  send({.destination = kSharedSite, .source_port = 2, .label = 7}, kOtherHop);
  send({.destination = kSharedSite, .label = 7, .next_header = 59}, kOtherHop);
  send({.destination = kSharedSite, .label = 8}, kOtherHop);
  expect_only(Difference::split_flow, 2);
}

TEST_F(Ipv6LedgerTest, LetsAPacketOutThatJustFits) {
  const TestIpv6Packet large{.destination = kNarrowSite, .payload_bytes = 1232};
  receive(large);
  send(large, {0x02AA00000003}, 0);
  expect_only(Difference::missing, 0);
}

TEST_F(Ipv6LedgerTest, TakesTheLongestPrefixAndTheLowestMetric) {
  const Ipv6Address beyond{in_site(0x10).high | 0x8000, 0};
  for (const std::uint64_t low : {0x7F, 0x80, 0xFF, 0x100}) receive({.destination = {beyond.high, low}});
  for (const std::uint64_t low : {0x80, 0xFF}) send({.destination = {beyond.high, low}}, kNextHop);
  for (const std::uint64_t low : {0x7F, 0x100}) send({.destination = {beyond.high, low}}, kOtherHop);
  expect_only(Difference::wrong_mac, 0);
}

TEST_F(Ipv6LedgerTest, SendsToANeighbourOnAConnectedNetwork) {
  receive({.destination = in_site(1, 7)});
  receive({.destination = in_site(2, 0)});  // the second address of a point-to-point link
  send({.destination = in_site(1, 7)}, {0x02AA00000007}, 0);
  send({.destination = in_site(2, 0)}, {0x02AA00000008}, 0);
  expect_only(Difference::missing, 0);
}

TEST_F(Ipv6LedgerTest, SendsNothingThatHasAReasonToStay) {
  expect_unsent({
      {{.destination = in_site(1)}, "local"},     // the router itself
      {{.destination = in_site(1, 0)}, "local"},  // the routers of a link
      {{.destination = in_site(1, 8)}, "unknown_neighbour"},
      {{.destination = in_site(0x16)}, "no_route"},
      {{.destination = in_site(0x14)}, "blackhole"},
      {{.destination = in_site(0x15)}, "unreachable"},
      {{.hop_limit = 1}, "hop_limit_exceeded"},
      {{.payload_bytes = 1453}, "packet_too_big"},
  });
}
TEST_F(Ipv6LedgerTest, SendsNothingOfTheOtherFamily) {
  ledger_.received(0, 1, make_frame(TestPacket{}));
  const Findings findings = ledger_.close();
  EXPECT_THAT(findings.unsent, testing::ElementsAre(testing::Pair("ipv4", 1)));
  EXPECT_EQ(findings.differences(), 0U);
}

/// Runs both functions in one pipeline.
class BothFamiliesTest : public LedgerFixture<TestIpv6Packet> {
 protected:
  BothFamiliesTest() : LedgerFixture({ipv6_ports(), ipv4_routes(), ipv6_routes()}) {}

  static std::unique_ptr<RouteOracle<Ipv4Rules>> ipv4_routes() {
    return std::make_unique<RouteOracle<Ipv4Rules>>(
        ipv6_ports(), control::parse_routes("10.0.0.0/8 via 192.0.2.1 dev port1\n", "routes", {}),
        control::parse_neighbours("192.0.2.1 dev port1 lladdr 02:aa:00:00:00:02\n", "neighbours", {}));
  }
};

TEST_F(BothFamiliesTest, GoTheirOwnWays) {
  receive({});
  ledger_.received(0, ++received_, make_frame(TestPacket{}));
  send_bytes(make_routed(TestPacket{}, kOtherHop, kPortMac[1]));
  send({});
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.differences(), 0U) << testing::PrintToString(findings.examples);
  EXPECT_EQ(findings.agreed, 2U);
}

TEST_F(BothFamiliesTest, AreToldApartInWhatIsWrong) {
  ledger_.received(0, ++received_, make_frame(TestPacket{}));
  send_bytes(make_routed(TestPacket{}, kNextHop, kPortMac[1]));
  const Findings findings = ledger_.close();
  EXPECT_THAT(findings.examples, testing::ElementsAre(testing::HasSubstr("198.51.100.1 > 10.0.0.1, protocol 17")));
  EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::wrong_mac)], 1U);
}

}  // namespace
}  // namespace penumbra::cli::verify
