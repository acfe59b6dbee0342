// SPDX-License-Identifier: Apache-2.0
//
// Compares rewritten packets with packets that were built with the new fields.
#include "functions/gswitch/rewrite.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/random.h"
#include "functions/gswitch/testing.h"
#include "testing/pool_packets.h"

namespace penumbra::gswitch {
namespace {

using control::rules::FlowAction;
using testing_support::append;
using testing_support::Bytes;
using testing_support::FrameSpec;
using Kind = FlowAction::Kind;

constexpr std::array kSets{
    Kind::set_vlan,   Kind::set_vlan_priority, Kind::strip_vlan, Kind::set_source_mac,  Kind::set_destination_mac,
    Kind::set_source, Kind::set_destination,   Kind::set_tos,    Kind::set_source_port, Kind::set_destination_port};

/// Applies an action to the specification of a frame (OpenFlow 1.0, Table 5).
void set(FrameSpec& spec, const FlowAction& action) {
  const bool is_ip = spec.type == ethertype::kIpv4;
  const bool has_ports = spec.has_transport() && (spec.protocol == kTcp || spec.protocol == kUdp);
  const auto value = static_cast<std::uint32_t>(action.value);
  if (action.kind == Kind::set_vlan) spec.tag = (spec.tag.value_or(0) & 0xF000) | value;
  if (action.kind == Kind::set_vlan_priority) spec.tag = (spec.tag.value_or(0) & 0x1FFF) | value << 13;
  if (action.kind == Kind::strip_vlan) {
    spec.tag.reset();
    spec.tag_type = ethertype::kTag;
  }
  if (action.kind == Kind::set_source_mac) spec.source_mac = action.value;
  if (action.kind == Kind::set_destination_mac) spec.destination_mac = action.value;
  if (action.kind == Kind::set_source && is_ip) spec.source = value;
  if (action.kind == Kind::set_destination && is_ip) spec.destination = value;
  if (action.kind == Kind::set_tos && is_ip) spec.tos = static_cast<std::uint8_t>((spec.tos & 3U) | value);
  if (action.kind == Kind::set_source_port && has_ports) spec.source_port = static_cast<std::uint16_t>(value);
  if (action.kind == Kind::set_destination_port && has_ports) spec.destination_port = static_cast<std::uint16_t>(value);
}

std::uint64_t random_value(Random& random, Kind kind) {
  switch (kind) {
    case Kind::set_vlan:
      return random.below(4096);
    case Kind::set_vlan_priority:
      return random.below(8);
    case Kind::set_source_mac:
    case Kind::set_destination_mac:
      return std::uint64_t{random.below(0x10000)} << 32 | random.below(0xFFFFFFFF);
    case Kind::set_tos:
      return std::uint64_t{4} * random.below(64);
    case Kind::set_source_port:
    case Kind::set_destination_port:
      return random.below(65536);
    default:
      return random.below(0xFFFFFFFF);
  }
}

Bytes rewritten(const Bytes& frame, const std::vector<FlowAction>& actions) {
  rte_mbuf* const packet = function_testing::packet_of(frame);
  rules_key key;
  PacketLayers layers;
  EXPECT_TRUE(read_packet(frame.data(), frame.size(), frame.size(), 1, key, layers));
  EXPECT_TRUE(set_fields(*packet, layers, actions));
  const Bytes after = function_testing::bytes_of(*packet);
  rte_pktmbuf_free(packet);
  return after;
}

FrameSpec random_frame(Random& random) {
  constexpr std::array<std::uint8_t, 5> kProtocols{kTcp, kUdp, kUdp, kIcmp, 47};
  constexpr std::array<std::uint16_t, 5> kFragments{0, 0, 0x4000, 0x2000, 0x2010};
  FrameSpec spec{.source = random.below(0xFFFFFFFF),
                 .destination = random.below(0xFFFFFFFF),
                 .protocol = kProtocols.at(random.below(5)),
                 .tos = static_cast<std::uint8_t>(random.below(256)),
                 .source_port = static_cast<std::uint16_t>(random.below(256)),
                 .destination_port = static_cast<std::uint16_t>(random.below(256)),
                 .fragment = kFragments.at(random.below(5)),
                 .option_words = static_cast<std::uint8_t>(random.below(4)),
                 .has_udp_checksum = random.below(4) != 0};
  if (random.below(2) == 0) spec.tag = static_cast<std::uint16_t>(random.below(65536));
  if (spec.tag && random.below(4) == 0) spec.tag_type = ethertype::kServiceTag;
  if (random.below(8) == 0) spec.type = 0x86DD;
  spec.payload.resize(random.below(40));
  for (std::uint8_t& byte : spec.payload) byte = static_cast<std::uint8_t>(random.below(256));
  return spec;
}

TEST(GSwitchRewrite, SetsFieldsAsIfThePacketWereMadeWithThem) {
  Random random(7);
  for (int round = 0; round < 20'000; ++round) {
    FrameSpec spec = random_frame(random);
    const Bytes before = spec.bytes();
    std::vector<FlowAction> actions(1 + random.below(5));
    for (FlowAction& action : actions) {
      action.kind = kSets.at(random.below(kSets.size()));
      action.value = random_value(random, action.kind);
      set(spec, action);
    }
    ASSERT_EQ(rewritten(before, actions), spec.bytes()) << to_string(actions) << testing::PrintToString(before);
  }
}

/// A checksum of 0 is sent as 0xFFFF, because 0 means that there is none (RFC 768).
TEST(GSwitchRewrite, AChecksumOfUdpIsNever0UnlessItWas) {
  const FrameSpec spec;
  int zeros = 0;
  for (std::uint32_t port = 0; port < 65536; ++port) {
    const Bytes after = rewritten(spec.bytes(), {{.kind = Kind::set_source_port, .value = port}});
    const unsigned sum = after[40] << 8 | after[41];
    ASSERT_NE(sum, 0U);
    if (sum == 0xFFFF) ++zeros;
  }
  EXPECT_EQ(zeros, 1);
  const Bytes after =
      rewritten(FrameSpec{.has_udp_checksum = false}.bytes(),
                {{.kind = Kind::set_destination, .value = 1}, {.kind = Kind::set_source_port, .value = 9}});
  EXPECT_EQ(after[40] << 8 | after[41], 0);
}

/// The inner tag does not become the tag of the frame within the same list of actions.
TEST(GSwitchRewrite, OneTagIsStrippedAndNotTheNext) {
  const FrameSpec two{.tag = 5, .type = ethertype::kTag, .payload = {0, 7, 0x88, 0xB5}};
  const FrameSpec one{.type = ethertype::kTag, .payload = two.payload};
  const FlowAction strip{.kind = Kind::strip_vlan};
  EXPECT_EQ(rewritten(two.bytes(), {strip, strip}), one.bytes());
  const FrameSpec other{.tag = 9, .type = ethertype::kTag, .payload = two.payload};
  EXPECT_EQ(rewritten(two.bytes(), {strip, {.kind = Kind::set_vlan, .value = 9}}), other.bytes());
}

TEST(GSwitchRewrite, AWrongHeaderStaysAsItIs) {
  Bytes frame = FrameSpec{}.bytes();
  frame[14] = 0x44;
  EXPECT_EQ(rewritten(frame, {{.kind = Kind::set_destination, .value = 1},
                              {.kind = Kind::set_tos, .value = 4},
                              {.kind = Kind::set_source_port, .value = 9}}),
            frame);
}

TEST(GSwitchRewrite, ATagNeedsRoom) {
  const Bytes frame = FrameSpec{}.bytes();
  rte_mbuf* const packet = function_testing::packet_of(frame);
  rte_pktmbuf_prepend(packet, packet->data_off);
  packet->data_len = packet->pkt_len = static_cast<std::uint16_t>(frame.size());
  std::copy(frame.begin(), frame.end(), rte_pktmbuf_mtod(packet, std::uint8_t*));
  rules_key key;
  PacketLayers layers;
  ASSERT_TRUE(read_packet(frame.data(), frame.size(), frame.size(), 1, key, layers));
  EXPECT_FALSE(set_fields(*packet, layers, std::vector<FlowAction>{{.kind = Kind::set_vlan, .value = 9}}));
  EXPECT_EQ(function_testing::bytes_of(*packet), frame);
  rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace penumbra::gswitch
