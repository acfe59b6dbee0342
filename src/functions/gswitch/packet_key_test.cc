// SPDX-License-Identifier: Apache-2.0
//
// Tests the fields of frames against values written by hand.
#include "functions/gswitch/packet_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/random.h"
#include "control/rules/flow_syntax.h"
#include "functions/gswitch/narrow_testing.h"
#include "functions/gswitch/testing.h"
#include "packet/packet_key_testing.h"

namespace penumbra::gswitch {
namespace {

using testing_support::append;
using testing_support::Bytes;
using testing_support::FrameSpec;

constexpr const char* kMacs = "in_port=3,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,";

/// Returns the fields in the syntax of flows, or "runt" for a runt.
std::string fields(const Bytes& frame, std::size_t missing = 0) {
  rules_key key;
  PacketLayers layers;
  // A copy that ends with the readable bytes lets AddressSanitizer detect reads past the end.
  const Bytes readable(frame.begin(), frame.end() - static_cast<std::ptrdiff_t>(missing));
  if (!read_packet(readable.data(), readable.size(), frame.size(), 3, key, layers)) return "runt";
  RuleWords words;
  std::ranges::copy(key.word, words.begin());
  SparseWords all;
  PacketLayers others;
  EXPECT_TRUE(read_packet(readable.data(), readable.size(), frame.size(), 3, all, others));
  EXPECT_EQ(testing_support::narrow(all), words) << "the keys of both kinds differ";
  return control::rules::flow_key_text(words);
}

/// Expects the same fields in any order.
void expect_fields(const Bytes& frame, const std::string& fields_of_frame, std::size_t missing = 0) {
  const std::string file = "test", text = kMacs + fields_of_frame;
  control::Line line(&file, 1, text);
  const std::string wanted = control::rules::flow_key_text(control::rules::parse_flow_key(line));
  EXPECT_EQ(fields(frame, missing), wanted);
}

TEST(GSwitchPacketKey, ReadsWhatPacketsOfIpv4Have) {
  expect_fields(FrameSpec{.tos = 0xB9}.bytes(), "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_tos=184,tp_src=1024,tp_dst=53");
  expect_fields(FrameSpec{.protocol = kTcp, .destination_port = 80, .option_words = 3}.bytes(),
                "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1024,tp_dst=80");
  expect_fields(FrameSpec{.protocol = kIcmp, .source_port = 3, .destination_port = 4}.bytes(),
                "icmp,nw_src=10.0.0.1,nw_dst=10.0.0.2,icmp_type=3,icmp_code=4");
  expect_fields(FrameSpec{.protocol = kSctp, .payload = {0, 7, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8}}.bytes(),
                "sctp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=7,tp_dst=9");
  expect_fields(FrameSpec{.protocol = 47}.bytes(), "ip,nw_proto=47,nw_src=10.0.0.1,nw_dst=10.0.0.2");
}

TEST(GSwitchPacketKey, TheOutermostTagIsTheFrames) {
  const std::string rest = ",udp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1024,tp_dst=53";
  expect_fields(FrameSpec{.tag = 0xA005}.bytes(), "dl_vlan=5,dl_vlan_pcp=5" + rest);
  expect_fields(FrameSpec{.tag = 0x1FFF}.bytes(), "dl_vlan=4095,dl_vlan_pcp=0" + rest);
  expect_fields(FrameSpec{.tag = 0xE000}.bytes(), "dl_vlan=0,dl_vlan_pcp=7" + rest);
  expect_fields(FrameSpec{.tag = 5, .tag_type = ethertype::kServiceTag}.bytes(), "dl_vlan=5,dl_vlan_pcp=0" + rest);
  expect_fields(FrameSpec{.tag = 5, .type = 0x8100, .payload = {0, 7, 8, 0}}.bytes(),
                "dl_vlan=5,dl_vlan_pcp=0,dl_type=0x8100");
}

TEST(GSwitchPacketKey, AFragmentHasNoPorts) {
  const std::string without = "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2";
  expect_fields(FrameSpec{.fragment = 0x2000}.bytes(), without);
  expect_fields(FrameSpec{.fragment = 0x2001}.bytes(), without);
  expect_fields(FrameSpec{.fragment = 0x0001}.bytes(), without);
  expect_fields(FrameSpec{.fragment = 0x4000}.bytes(), without + ",tp_src=1024,tp_dst=53");
}

TEST(GSwitchPacketKey, WhatIsNotAllThereIsZero) {
  const Bytes frame = FrameSpec{.protocol = kTcp, .payload = {}}.bytes();
  expect_fields(frame, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1024,tp_dst=53");
  expect_fields(frame, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2", 1);
  expect_fields(frame, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2", 20);
  expect_fields(frame, "ip", 21);
  expect_fields(frame, "ip", frame.size() - 14);
  EXPECT_EQ(fields(frame, frame.size() - 13), "runt");
  const Bytes tagged = FrameSpec{.tag = 5}.bytes();
  EXPECT_EQ(fields(tagged, tagged.size() - 17), "runt");
  expect_fields(tagged, "dl_vlan=5,dl_vlan_pcp=0,ip", tagged.size() - 18);
  for (const auto& [at, value] : {std::pair{14, 0x55}, {14, 0x44}, {14, 0x4F}, {17, 200}, {17, 19}}) {
    Bytes wrong = frame;
    wrong[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
    expect_fields(wrong, "ip");
  }
}

TEST(GSwitchPacketKey, AHeaderOfTcpThatIsWrongHasNoPorts) {
  for (const std::uint8_t words : {0x40, 0x60}) {
    Bytes frame = FrameSpec{.protocol = kTcp, .payload = {}}.bytes();
    frame[46] = words;
    expect_fields(frame, "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2");
  }
}

/// The packet ends before its frame; the rest is padding.
TEST(GSwitchPacketKey, PaddingIsNoHeader) {
  Bytes frame = FrameSpec{.protocol = 47, .payload = {}}.bytes();
  frame.resize(60, 0x11);
  frame[23] = kUdp;
  expect_fields(frame, "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2");
}

TEST(GSwitchPacketKey, ReadsAddressesAndOperationOfArp) {
  Bytes payload;
  append(payload, 0x0001'0800'0604'0002, 8);
  append(payload, 0x020000000001, 6);
  append(payload, 0xC0000201, 4);
  append(payload, 0x020000000002, 6);
  append(payload, 0xC0000202, 4);
  expect_fields(FrameSpec{.type = ethertype::kArp, .payload = payload}.bytes(),
                "arp,nw_src=192.0.2.1,nw_dst=192.0.2.2,arp_op=2");
  expect_fields(FrameSpec{.type = packet_fields::kRarpType, .payload = payload}.bytes(),
                "rarp,nw_src=192.0.2.1,nw_dst=192.0.2.2,nw_proto=2");
  expect_fields(FrameSpec{.type = ethertype::kArp, .payload = payload}.bytes(), "arp", 1);
  payload[6] = 1;
  expect_fields(FrameSpec{.type = ethertype::kArp, .payload = payload}.bytes(),
                "arp,nw_src=192.0.2.1,nw_dst=192.0.2.2");
  payload[1] = 6;
  expect_fields(FrameSpec{.type = ethertype::kArp, .payload = payload}.bytes(), "arp");
}

TEST(GSwitchPacketKey, ALengthIsNoEthertype) {
  const Bytes ip = FrameSpec{}.bytes();
  Bytes snap{0xAA, 0xAA, 3, 0, 0, 0, 8, 0};
  snap.insert(snap.end(), ip.begin() + 14, ip.end());
  const auto type = static_cast<std::uint16_t>(snap.size());
  expect_fields(FrameSpec{.type = type, .payload = snap}.bytes(),
                "udp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1024,tp_dst=53");
  snap[5] = 1;
  expect_fields(FrameSpec{.type = type, .payload = snap}.bytes(), "dl_type=0x05ff");
  expect_fields(FrameSpec{.type = 7, .payload = {0xAA, 0xAA, 3, 0, 0, 0, 8}}.bytes(), "dl_type=0x05ff");
  expect_fields(FrameSpec{.type = 0x0600, .payload = {}}.bytes(), "dl_type=0x0600");
}

TEST(GSwitchPacketKey, OfIpv6ItReadsTheEthertypeOnly) {
  expect_fields(FrameSpec{.type = 0x86DD, .payload = Bytes(48, 0x11)}.bytes(), "ipv6");
}

/// Keys of all fields are those of megaflows, except that fragments have no ports.
TEST(GSwitchPacketKey, OfAllFieldsIsThatOfOpenVSwitch) {
  namespace all_fields = packet_fields::testing_support;
  Random random(4);
  int fragments = 0;
  for (int i = 0; i < 20'000; ++i) {
    const all_fields::FrameSpec spec = all_fields::random_frame(random, 2);
    const Bytes frame = spec.bytes();
    SparseWords wanted = spec.key(3), key;
    if ((wanted[4] & 0xFF) != 0) {
      wanted[4] &= 0xFFFFFFFF;
      ++fragments;
    }
    PacketLayers layers, narrow_layers;
    rules_key narrow_key;
    ASSERT_TRUE(read_packet(frame.data(), frame.size(), frame.size(), 3, key, layers));
    ASSERT_EQ(key, wanted) << testing::PrintToString(frame);
    ASSERT_TRUE(read_packet(frame.data(), frame.size(), frame.size(), 3, narrow_key, narrow_layers));
    EXPECT_EQ(layers.ipv4, narrow_layers.ipv4);
    EXPECT_EQ(layers.tcp, narrow_layers.tcp);
    EXPECT_EQ(layers.udp, narrow_layers.udp);
    EXPECT_EQ(layers.has_ports, narrow_layers.has_ports);
    EXPECT_EQ(layers.is_tagged, narrow_layers.is_tagged);
  }
  EXPECT_GT(fragments, 1000);
}

TEST(GSwitchPacketKey, OfAllFieldsHasNoIpv6FieldsOfAWrongHeader) {
  packet_fields::testing_support::FrameSpec spec;
  spec.type = ethertype::kIpv6;
  spec.protocol = kTcp;
  spec.source.high = 0x20010DB800000000;
  const Bytes frame = spec.bytes();
  const auto key_of = [](const Bytes& bytes) {
    SparseWords key;
    PacketLayers layers;
    EXPECT_TRUE(read_packet(bytes.data(), bytes.size(), bytes.size(), 3, key, layers));
    return key;
  };
  const SparseWords whole = key_of(frame);
  EXPECT_NE(whole[6], 0U);
  SparseWords ethernet{};
  std::copy_n(whole.begin(), 2, ethernet.begin());
  EXPECT_EQ(key_of(Bytes(frame.begin(), frame.end() - 1)), ethernet) << "a truncated packet";
  Bytes wrong = frame;
  wrong[14] = 0x45;
  EXPECT_EQ(key_of(wrong), ethernet) << "the version is wrong";
  wrong = frame;
  wrong[54 + 12] = 0x40;
  SparseWords without_ports = whole;
  without_ports[4] &= 0xFFFFFFFF;
  without_ports[2] = 0;
  EXPECT_EQ(key_of(wrong), without_ports) << "the data offset is wrong";
}

}  // namespace
}  // namespace penumbra::gswitch
