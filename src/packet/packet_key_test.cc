// SPDX-License-Identifier: Apache-2.0
//
// Compares the keys of frames with keys that were made from the descriptions of the frames.
#include "packet/packet_key.h"

#include <gtest/gtest.h>

#include "packet/packet_key_testing.h"

namespace penumbra::packet_fields {
namespace {

using testing_support::append;
using testing_support::Bytes;
using testing_support::FrameSpec;

std::optional<SparseWords> key_of(const Bytes& frame, std::uint16_t in_port = 3) {
  SparseWords key;
  PacketLayers layers;
  const Reading reading = read_packet(frame.data(), frame.size(), frame.size(), in_port, key, layers);
  return reading == Reading::usual ? std::optional(key) : std::nullopt;
}

TEST(PacketKey, HasTheFieldsOfTheFrame) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const FrameSpec spec = testing_support::random_frame(random, 2);
    ASSERT_EQ(key_of(spec.bytes()), spec.key(3)) << testing::PrintToString(spec.bytes());
  }
}

/// A packet that is cut has no key, except where all that Open vSwitch reads is there.
TEST(PacketKey, OfCutFramesIsMissingAndNothingIsReadAfterThem) {
  for (const std::uint16_t type : {ethertype::kIpv4, ethertype::kIpv6}) {
    FrameSpec spec;
    spec.type = type;
    spec.protocol = ip_protocol::kTcp;
    spec.tags = {{ethertype::kTag, 7}};
    const Bytes frame = spec.bytes();
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
      EXPECT_FALSE(key_of(Bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(bytes)))) << bytes;
    }
    Bytes padded = frame;
    padded.resize(frame.size() + 255);
    EXPECT_EQ(key_of(padded), spec.key(3));
    padded.push_back(0);
    EXPECT_FALSE(key_of(padded)) << "Open vSwitch takes a packet with more padding for invalid";
  }
}

TEST(PacketKey, HasTheOutermostLabelOfMpls) {
  FrameSpec spec;
  spec.type = 0x8847;
  spec.tags = {{ethertype::kTag, 7}};
  spec.payload = {0x12, 0x34, 0x5A, 0x40, 0xFF, 0xFF, 0xFF, 0xFF};  // two labels, of which the first is not the last
  const Bytes frame = spec.bytes();
  const SparseWords key = key_of(frame).value();
  EXPECT_EQ(get(key, Field::mpls_label).low, 0x12345U);
  EXPECT_EQ(get(key, Field::mpls_tc).low, 5U);
  EXPECT_EQ(get(key, Field::mpls_bos).low, 0U);
  EXPECT_EQ(get(key, Field::mpls_ttl).low, 0x40U);
  // A frame that ends within the label has none. A segment that ends there has no key.
  const std::size_t label = 18;
  for (std::size_t readable = label; readable < label + 4; ++readable) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
    EXPECT_EQ(key_of(cut).value()[5], 0U) << readable;
    SparseWords scattered;
    PacketLayers layers;
    EXPECT_EQ(read_packet(cut.data(), readable, frame.size(), 3, scattered, layers), Reading::unusual) << readable;
  }
}

Bytes arp(std::uint16_t operation, std::uint16_t hardware = 1) {
  Bytes frame;
  append(frame, 0xFFFFFFFFFFFF, 6);
  append(frame, 0x020000000001, 6);
  append(frame, ethertype::kArp, 2);
  append(frame, hardware, 2);
  append(frame, 0x0800'0604, 4);
  append(frame, operation, 2);
  append(frame, 0x02000000000A, 6);
  append(frame, 0x0A000001, 4);
  append(frame, 0x02000000000B, 6);
  append(frame, 0x0A000002, 4);
  return frame;
}

TEST(PacketKey, HasTheAddressesOfArp) {
  const SparseWords key = key_of(arp(2)).value();
  EXPECT_EQ(get(key, Field::nw_proto).low, 2U);
  EXPECT_EQ(get(key, Field::nw_src).low, 0x0A000001U);
  EXPECT_EQ(get(key, Field::nw_dst).low, 0x0A000002U);
  EXPECT_EQ(get(key, Field::arp_sha).low, 0x02000000000AU);
  EXPECT_EQ(get(key, Field::arp_tha).low, 0x02000000000BU);
  EXPECT_EQ(get(key_of(arp(0x102)).value(), Field::nw_proto).low, 0U);
  EXPECT_EQ((key_of(arp(2, 6)).value())[3], 0U) << "other hardware than Ethernet";
}

FrameSpec solicitation(const Bytes& options) {
  FrameSpec spec;
  spec.type = ethertype::kIpv6;
  spec.protocol = ip_protocol::kIcmpv6;
  spec.source_port = 135;
  spec.destination_port = 0;
  spec.payload.clear();
  append(spec.payload, 0xFE80000000000000, 8);
  append(spec.payload, 0x77, 8);
  spec.payload.insert(spec.payload.end(), options.begin(), options.end());
  return spec;
}

TEST(PacketKey, HasTheTargetOfNeighbourDiscovery) {
  const Bytes source{1, 1, 2, 0, 0, 0, 0, 9}, target{2, 1, 2, 0, 0, 0, 0, 8};
  Bytes both = source;
  both.insert(both.end(), target.begin(), target.end());
  const SparseWords key = key_of(solicitation(both).bytes()).value();
  EXPECT_EQ(get(key, Field::nd_target), (Number{0xFE80000000000000, 0x77}));
  EXPECT_EQ(get(key, Field::arp_sha).low, 0x020000000009U);
  EXPECT_EQ(get(key, Field::arp_tha).low, 0x020000000008U);
  Bytes twice = source;
  twice.insert(twice.end(), source.begin(), source.end());
  EXPECT_FALSE(key_of(solicitation(twice).bytes()));
  EXPECT_EQ(get(key_of(solicitation({1, 0, 2, 0, 0, 0, 0, 9}).bytes()).value(), Field::arp_sha).low, 0U)
      << "of no length";
  EXPECT_EQ(get(key_of(solicitation({1, 2, 2, 0, 0, 0, 0, 9}).bytes()).value(), Field::arp_sha).low, 0U) << "too long";
}

/// Only the first segment of a packet is readable. The vector ends with it, so that AddressSanitizer detects more
/// reads.
TEST(PacketKey, OfScatteredNeighbourDiscoveryIsMissing) {
  Bytes options{14, 2};
  options.resize(16);
  const Bytes source{1, 1, 2, 0, 0, 0, 0, 9};
  options.insert(options.end(), source.begin(), source.end());
  const Bytes frame = solicitation(options).bytes();
  for (std::size_t readable = 0; readable < frame.size(); ++readable) {
    const Bytes segment(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(readable));
    SparseWords key;
    PacketLayers layers;
    EXPECT_NE(read_packet(segment.data(), readable, frame.size(), 3, key, layers), Reading::usual) << readable;
  }
  EXPECT_EQ(get(key_of(frame).value(), Field::arp_sha).low, 0x020000000009U);
}

TEST(PacketKey, IsMissingWhereOpenVSwitchMayDiffer) {
  FrameSpec igmp;
  igmp.protocol = 2;
  EXPECT_FALSE(key_of(igmp.bytes()));
  FrameSpec icmp;
  icmp.protocol = ip_protocol::kIcmp;
  icmp.payload = {8, 0, 0, 0};
  EXPECT_FALSE(key_of(icmp.bytes())) << "ICMP of fewer than 8 bytes";
  FrameSpec length;
  length.type = 0x0040;
  EXPECT_FALSE(key_of(length.bytes())) << "IEEE 802.3";
  FrameSpec version;
  Bytes frame = version.bytes();
  frame[14] = 0x65;
  EXPECT_FALSE(key_of(frame)) << "another version of IP";
}

}  // namespace
}  // namespace penumbra::packet_fields
