// SPDX-License-Identifier: Apache-2.0
//
// Differences that the ledger detects for either family.
#include <array>

#include "cli/verify/ledger_testing.h"

namespace penumbra::cli::verify {
namespace {

template <class Fixture>
class LedgerOfAFamily : public Fixture {
 protected:
  static auto with(auto packet, std::uint16_t source_port, std::uint8_t mark) {
    packet.source_port = source_port;
    packet.mark = mark;
    return packet;
  }
  static auto too_long() {
    auto packet = Fixture::kToNarrow;
    packet.payload_bytes = Fixture::kTooLong;
    return packet;
  }
};
using Families = testing::Types<LedgerTest, Ipv6LedgerTest>;
TYPED_TEST_SUITE(LedgerOfAFamily, Families);

constexpr MacAddress kNarrowHop{0x02AA00000003};

TYPED_TEST(LedgerOfAFamily, AgreesWithARightRouter) {
  for (std::uint8_t mark = 0; mark < 50; ++mark) this->receive({.mark = mark});
  for (std::uint8_t mark = 0; mark < 50; ++mark) this->send({.mark = mark});
  const Findings findings = this->ledger_.close();
  EXPECT_EQ(findings.differences(), 0U);
  EXPECT_EQ(findings.agreed, 50U);
}

TYPED_TEST(LedgerOfAFamily, NoticesTheWrongPort) {
  this->receive({});
  this->send({}, kNextHop, 0);
  this->expect_only(Difference::wrong_port);
}

TYPED_TEST(LedgerOfAFamily, NoticesTheWrongNextHop) {
  this->receive({});
  this->send({}, kOtherHop);
  this->expect_only(Difference::wrong_mac);
}

TYPED_TEST(LedgerOfAFamily, TakesAnyNextHopOfASetButOnePerFlow) {
  const auto first = this->with(this->kToShared, 1, 1), second = this->with(this->kToShared, 1, 2),
             other = this->with(this->kToShared, 2, 0);
  for (const auto& packet : {first, second, other}) this->receive(packet);
  this->send(first, kNextHop);
  this->send(other, kOtherHop);
  this->send(second, kOtherHop);
  this->expect_only(Difference::split_flow);
}

TYPED_TEST(LedgerOfAFamily, DoesNotLetHalfAFlowGoToAnUnknownNeighbour) {
  const auto first = this->with(this->kToHalf, 1, 1), second = this->with(this->kToHalf, 1, 2);
  this->receive(first);
  this->receive(second);
  this->send(first);
  this->expect_only(Difference::missing);
}

TYPED_TEST(LedgerOfAFamily, MindsTheMtuOfTheNextHopThatAFlowTook) {
  this->receive(this->kToNarrow);
  this->receive(this->too_long());
  this->send(this->kToNarrow, kNarrowHop, 0);
  this->expect_only(Difference::missing, 0);
}

TYPED_TEST(LedgerOfAFamily, DoesNotLetAPacketOutThatIsTooLong) {
  this->receive(this->too_long());
  this->send(this->too_long(), kNarrowHop, 0);
  this->expect_only(Difference::wrong_port);
}

/// Port 0 has the smallest MTU and would have to remove the bytes after the packet. Port 1 keeps these bytes, up to its
/// own MTU.
TYPED_TEST(LedgerOfAFamily, KnowsHowLongAFrameMayLeave) {
  const auto with_trailer = [](Bytes frame, std::size_t bytes) {
    frame.resize(bytes, 0xEE);
    return frame;
  };
  const decltype(this->too_long()) packet{};
  const Bytes frame = make_frame(packet), routed = make_routed(packet, kNextHop, kPortMac[1]);
  const std::array<std::size_t, 3> lengths{14 + this->kLeastMtu, 14 + 1500, 14 + 1501};
  for (const std::size_t bytes : lengths) this->ledger_.received(0, ++this->received_, with_trailer(frame, bytes));
  for (const std::size_t bytes : lengths) this->send_bytes(with_trailer(routed, bytes));
  this->expect_only(Difference::unexpected);
}

}  // namespace
}  // namespace penumbra::cli::verify
