// SPDX-License-Identifier: Apache-2.0
//
// The ledger must detect every kind of mistake, so each test makes one on purpose.
#include "cli/verify/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verify/ledger_testing.h"

namespace penumbra::cli::verify {
namespace {

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
  Bytes frame = make_routed(TestPacket{.mark = 1}, kNextHop, kPortMac[1]);
  frame.push_back(0);
  send_bytes(frame);
  frame.resize(frame.size() - 2);
  send_bytes(frame);
  send_bytes(Bytes(5));
  const Findings findings = ledger_.close();
  EXPECT_EQ(findings.counts[static_cast<std::size_t>(Difference::unexpected)], 3U);
}

TEST_F(LedgerTest, NoticesTheWrongSourceAddress) {
  receive({});
  send_bytes(make_routed(TestPacket{}, kNextHop, kPortMac[0]));
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

TEST_F(LedgerTest, LetsAWholeFlowGoToAnUnknownNeighbour) {
  receive({.destination = kHalf, .source_port = 1, .mark = 1});
  receive({.destination = kHalf, .source_port = 1, .mark = 2});
  expect_only(Difference::missing, 0);
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

TEST_F(LedgerTest, SendsNothingThatHasAReasonToStay) {
  expect_unsent({
      {{.destination = 0xC0A80001}, "local"},      // the router itself
      {{.destination = 0xC0A80000}, "broadcast"},  // a connected network as such
      {{.destination = 0xC0A800FF}, "broadcast"},
      {{.destination = 0xC0A80008}, "unknown_neighbour"},
      {{.destination = 0x10000001}, "no_route"},
      {{.destination = 0x0E000001}, "blackhole"},
      {{.destination = 0x0F000001}, "unreachable"},
      {{.destination = kOne, .ttl = 1}, "ttl_expired"},
      {{.destination = kOne, .payload_bytes = 1473}, "fragmentation_needed"},
  });
}

TEST_F(LedgerTest, NoticesAPacketThatShouldHaveBeenDropped) {
  receive({.destination = 0x0E000001});
  send({.destination = 0x0E000001});
  expect_only(Difference::unexpected);
}

}  // namespace
}  // namespace penumbra::cli::verify
