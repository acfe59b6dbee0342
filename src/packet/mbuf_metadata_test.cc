// SPDX-License-Identifier: Apache-2.0
#include "packet/mbuf_metadata.h"

#include <gtest/gtest.h>

#include <array>

#include "packet/mbuf_edits.h"
#include "packet/testing.h"

namespace penumbra {
namespace {

using namespace packet_testing;

/// A packet with headroom and a private area, as of a packet pool. The area has random bytes at first.
struct Pooled {
  explicit Pooled(const Bytes& frame) : bytes(Bytes(8) + frame) {
    area.fill(0xA5);
    mbuf.buf_addr = bytes.data();
    mbuf.buf_len = static_cast<std::uint16_t>(bytes.size());
    mbuf.data_off = 8;
    mbuf.data_len = static_cast<std::uint16_t>(frame.size());
    mbuf.pkt_len = mbuf.data_len;
  }
  Bytes bytes;
  rte_mbuf mbuf{};
  std::array<std::uint8_t, kMetadataBytes> area{};
};

/// UDP from port 1 to port 2.
Bytes udp_frame() {
  return ethernet(0x0800, ipv4(17, Bytes{0, 1, 0, 2, 0, 8, 0, 0}));
}
constexpr std::size_t kDestinationPortAt = 8 + 14 + 20 + 3;

TEST(Metadata, HasTheHeadersThatTheParserFinds) {
  for (const Bytes& frame : {udp_frame(), Bytes(5), ethernet(0x86DD, ipv6(6, {}))}) {
    Pooled packet(frame);
    EXPECT_EQ(headers_of(packet.mbuf), parse_headers(std::as_bytes(std::span(frame))));
  }
}

TEST(Metadata, IsParsedOnceUntilTheHeadersChange) {
  Pooled packet(udp_frame());
  EXPECT_EQ(headers_of(packet.mbuf).destination_port, 2);
  packet.bytes[kDestinationPortAt] = 9;
  EXPECT_EQ(headers_of(packet.mbuf).destination_port, 2) << "parsed before";
  headers_changed(packet.mbuf);
  EXPECT_EQ(headers_of(packet.mbuf).destination_port, 9);
  packet.bytes[kDestinationPortAt] = 7;
  clear_metadata(packet.mbuf);
  EXPECT_EQ(headers_of(packet.mbuf).destination_port, 7);
}

TEST(Metadata, FollowsTags) {
  Pooled packet(udp_frame());
  EXPECT_EQ(headers_of(packet.mbuf).tags, 0);
  ASSERT_TRUE(push_tag(packet.mbuf, 0x8100, 5));
  EXPECT_EQ(headers_of(packet.mbuf).vlan(), 5);
  EXPECT_EQ(headers_of(packet.mbuf).network, 18);
  pop_tag(packet.mbuf);
  EXPECT_EQ(headers_of(packet.mbuf).network, 14);
}

TEST(Metadata, KeepsTimeAndVisitsApartFromTheHeaders) {
  Pooled packet(udp_frame());
  EXPECT_EQ(received_at(packet.mbuf, 5), 5U);
  PacketMetadata& journey = journey_of(packet.mbuf, 7);
  EXPECT_EQ(journey.visits, 0);
  ++journey.visits;
  headers_changed(packet.mbuf);
  EXPECT_EQ(headers_of(packet.mbuf).destination_port, 2);
  EXPECT_EQ(journey_of(packet.mbuf, 9).visits, 1);
  EXPECT_EQ(received_at(packet.mbuf, 9), 7U);
  clear_metadata(packet.mbuf);
  EXPECT_EQ(received_at(packet.mbuf, 11), 11U);
}

}  // namespace
}  // namespace penumbra
