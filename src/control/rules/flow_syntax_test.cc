// SPDX-License-Identifier: Apache-2.0
#include "control/rules/flow_syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "base/random.h"
#include "base/scratch_folder.h"
#include "control/rules/flow_fields.h"
#include "control/rules/openflow10.h"
#include "testing/message_of.h"

namespace penumbra::control::rules {
namespace {

using Kind = FlowAction::Kind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;

FlowList parse_flow_text(std::string_view text) {
  return parse_flows(text, "flows");
}

std::string flow_text(const FlowList& flows) {
  std::ostringstream text;
  write_flows(text, flows);
  return text.str();
}

/// Lists valid spellings of flows, each with ovs-ofctl's form.
const std::vector<std::pair<std::string, std::string>> kForms{
    {"priority=10,tcp,nw_dst=10.0.0.0/8,tp_dst=80,actions=output:2",
     "priority=10,tcp,nw_dst=10.0.0.0/8,tp_dst=80 actions=output:2"},
    {"tp_dst=0x50 nw_dst=10.0.0.0/8,tcp , priority=0x10 actions=2",
     "priority=16,tcp,nw_dst=10.0.0.0/8,tp_dst=80 actions=output:2"},
    {"actions=drop", "actions=drop"},
    {"priority=32768,actions=", "actions=drop"},
    {"priority=0 action=DROP", "priority=0 actions=drop"},
    {"ip,nw_dst=10.1.2.3/255.0.255.0,actions=2", "ip,nw_dst=10.0.2.0/255.0.255.0 actions=output:2"},
    {"ip,nw_src=10.1.2.3/8,nw_dst=1.2.3.4/32,actions=2", "ip,nw_src=10.0.0.0/8,nw_dst=1.2.3.4 actions=output:2"},
    {"ip,nw_src=1.2.3.4/0,nw_dst=1.2.3.4/255.255.0.0,actions=2", "ip,nw_dst=1.2.0.0/16 actions=output:2"},
    {"ip,nw_src=*,in_port=*,dl_vlan=*,dl_vlan_pcp=*,vlan_tci=*,actions=2", "ip actions=output:2"},
    {"tcp,tp_dst=80/0xfff0,tp_src=5/0,actions=drop", "tcp,tp_dst=0x50/0xfff0 actions=drop"},
    {"tcp,tcp_dst=0x5f/0xfff0,tcp_src=9,actions=drop", "tcp,tp_src=9,tp_dst=0x50/0xfff0 actions=drop"},
    {"udp,udp_dst=53,udp_src=1,actions=drop", "udp,tp_src=1,tp_dst=53 actions=drop"},
    {"sctp,sctp_dst=1/1,sctp_src=1,actions=drop", "sctp,tp_src=1,tp_dst=0x1/0x1 actions=drop"},
    {"ip,tcp,nw_proto=6,dl_type=0x800,actions=drop", "tcp actions=drop"},
    {"dl_type=0x0800,nw_proto=0x11,tp_dst=80,actions=drop", "udp,tp_dst=80 actions=drop"},
    {"ip,nw_proto=0,nw_tos=252,actions=drop", "ip,nw_proto=0,nw_tos=252 actions=drop"},
    {"ip,nw_proto=2,ip_dscp=63,actions=drop", "ip,nw_proto=2,nw_tos=252 actions=drop"},
    {"icmp,icmp_type=8,icmp_code=0,actions=drop", "icmp,icmp_type=8,icmp_code=0 actions=drop"},
    {"icmp,tp_src=8,tp_dst=0,actions=drop", "icmp,icmp_type=8,icmp_code=0 actions=drop"},
    {"arp,nw_src=1.2.3.4,nw_dst=1.0.0.0/8,nw_proto=1,actions=drop",
     "arp,arp_spa=1.2.3.4,arp_tpa=1.0.0.0/8,arp_op=1 actions=drop"},
    {"dl_type=0x8035,arp_tpa=1.2.3.4,arp_op=3,actions=drop", "rarp,arp_tpa=1.2.3.4,arp_op=3 actions=drop"},
    {"dl_type=0x86dd,actions=drop", "ipv6 actions=drop"},
    {"mpls,actions=drop", "mpls actions=drop"},
    {"eth_type=0x8848,actions=drop", "mplsm actions=drop"},
    {"dl_type=0x88cc,actions=drop", "dl_type=0x88cc actions=drop"},
    {"dl_type=0,actions=drop", "dl_type=0x0000 actions=drop"},
    {"dl_vlan=0xffff,actions=drop", "vlan_tci=0x0000 actions=drop"},
    {"vlan_tci=0,actions=drop", "vlan_tci=0x0000 actions=drop"},
    {"dl_vlan=10,dl_vlan_pcp=3,actions=drop", "dl_vlan=10,dl_vlan_pcp=3 actions=drop"},
    {"dl_vlan=0,actions=drop", "dl_vlan=0 actions=drop"},
    {"vlan_pcp=0,actions=drop", "dl_vlan_pcp=0 actions=drop"},
    {"vlan_tci=0x1000/0x1000,actions=drop", "vlan_tci=0x1000/0x1000 actions=drop"},
    {"vlan_tci=0x100a,actions=drop", "dl_vlan=10,dl_vlan_pcp=0 actions=drop"},
    {"vlan_tci=0x1000/0x1fff,actions=drop", "dl_vlan=0 actions=drop"},
    {"vlan_tci=0xffff,actions=drop", "dl_vlan=4095,dl_vlan_pcp=7 actions=drop"},
    {"vlan_tci=0xb00a/0xf00f,actions=drop", "vlan_tci=0xb00a/0xf00f actions=drop"},
    {"dl_src=02:00:00:00:00:01/ff:ff:ff:00:00:00,eth_dst=01:00:00:00:00:00/01:00:00:00:00:00,actions=flood",
     "dl_src=02:00:00:00:00:00/ff:ff:ff:00:00:00,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 actions=FLOOD"},
    {"vlan_tci=0/0xfff,actions=drop", "vlan_tci=0x0000/0x0fff actions=drop"},
    {"vlan_vid=0x1005,actions=drop", "dl_vlan=5 actions=drop"},
    {"vlan_vid=0x1000/0x1000,vlan_pcp=3,actions=drop", "dl_vlan_pcp=3 actions=drop"},
    {"tcp6,tp_dst=80,ipv6_src=2001:db8::/32,ipv6_dst=::1,actions=drop",
     "tcp6,ipv6_src=2001:db8::/32,ipv6_dst=::1,tp_dst=80 actions=drop"},
    {"ipv6,nw_proto=17,udp_dst=53/0xff,ipv6_label=0x12345,actions=drop",
     "udp6,ipv6_label=0x12345,tp_dst=0x35/0xff actions=drop"},
    {"ipv6,ipv6_dst=ff02::1/ff00::f,nw_tos=4,nw_ecn=3,nw_ttl=255,actions=drop",
     "ipv6,ipv6_dst=ff00::1/ff00::f,nw_tos=4,nw_ecn=3,nw_ttl=255 actions=drop"},
    {"ipv6,nw_proto=44,ip_frag=later,actions=drop", "ipv6,nw_proto=44,nw_frag=later actions=drop"},
    {"ip,ip_frag=not_later,nw_ttl=1,ip_ecn=1,actions=drop", "ip,nw_ecn=1,nw_ttl=1,nw_frag=not_later actions=drop"},
    {"tcp,tcp_flags=+syn-ack,actions=drop", "tcp,tcp_flags=+syn-ack actions=drop"},
    {"tcp,tcp_flags=0x2/0x12,actions=drop", "tcp,tcp_flags=+syn-ack actions=drop"},
    {"tcp6,tcp_flags=0x12,actions=drop", "tcp6,tcp_flags=syn|ack actions=drop"},
    {"tcp6,tcp_flags=fin|ns,actions=drop", "tcp6,tcp_flags=fin|ns actions=drop"},
    {"icmp6,icmpv6_type=128,icmpv6_code=0,actions=drop", "icmp6,icmp_type=128,icmp_code=0 actions=drop"},
    {"icmp6,icmpv6_type=135,icmpv6_code=0,nd_target=fe80::1,nd_sll=02:00:00:00:00:01,actions=drop",
     "icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=02:00:00:00:00:01 actions=drop"},
    {"icmp6,icmpv6_type=136,icmpv6_code=0,nd_tll=02:00:00:00:00:00/ff:00:00:00:00:00,actions=drop",
     "icmp6,icmp_type=136,icmp_code=0,nd_tll=02:00:00:00:00:00/ff:00:00:00:00:00 actions=drop"},
    {"arp,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00,actions=drop",
     "arp,arp_sha=02:00:00:00:00:01,arp_tha=00:00:00:00:00:00 actions=drop"},
    {"mpls,mpls_label=1048575,mpls_tc=7,mpls_bos=1,mpls_ttl=64,actions=drop",
     "mpls,mpls_label=1048575,mpls_tc=7,mpls_ttl=64,mpls_bos=1 actions=drop"},
    {"in_port=LOCAL,actions=IN_PORT", "in_port=LOCAL actions=IN_PORT"},
    {"in_port=65534,actions=output:in_port", "in_port=LOCAL actions=IN_PORT"},
    {"in_port=none,actions=normal", "in_port=ANY actions=NORMAL"},
    {"in_port=65280,actions=all", "in_port=65280 actions=ALL"},
    {"in_port=0,actions=controller", "in_port=0 actions=CONTROLLER:65535"},
    {"actions=CONTROLLER:0,controller(max_len=20),controller()", "actions=CONTROLLER:0,CONTROLLER:20,CONTROLLER:65535"},
    {"actions=output:1 ,output(2) 65279,local", "actions=output:1,output:2,output:65279,LOCAL"},
    {"actions=mod_vlan_vid:0x10,mod_vlan_pcp:7,strip_vlan,pop_vlan",
     "actions=mod_vlan_vid:16,mod_vlan_pcp:7,strip_vlan,strip_vlan"},
    {"actions=mod_dl_src:00:01:02:03:04:05,mod_dl_dst:00:01:02:03:04:06,mod_nw_src:1.2.3.4,mod_nw_dst:4.3.2.1",
     "actions=mod_dl_src:00:01:02:03:04:05,mod_dl_dst:00:01:02:03:04:06,mod_nw_src:1.2.3.4,mod_nw_dst:4.3.2.1"},
    {"tcp,actions=mod_nw_tos:0x10,mod_tp_src:80,mod_tp_dst:65535,enqueue:1:2,enqueue(LOCAL,4),enqueue:in_port:"
     "4294967295",
     "tcp actions=mod_nw_tos:16,mod_tp_src:80,mod_tp_dst:65535,enqueue:1:2,enqueue:LOCAL:4,enqueue:IN_PORT:4294967295"},
    {"tcp,tp_src=1,tp_dst=2,nw_src=1.2.3.4,nw_dst=5.6.7.8,nw_tos=8,dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02,"
     "in_port=3,dl_vlan=4,dl_vlan_pcp=5,priority=6,actions=output:1",
     "priority=6,tcp,in_port=3,dl_vlan=4,dl_vlan_pcp=5,dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02,nw_src=1.2.3."
     "4,"
     "nw_dst=5.6.7.8,nw_tos=8,tp_src=1,tp_dst=2 actions=output:1"}};

TEST(FlowSyntax, TakesEveryForm) {
  for (const auto& [text, expected] : kForms) {
    for (const std::string end : {"", "\n", "\r\n", " # comment\n\n"})
      EXPECT_EQ(flow_text(parse_flow_text(text + end)), expected + "\n") << text;
  }
}

/// Open vSwitch prints this match of packets without a tag as vlan_tci=0x0000/0x1fff.
TEST(FlowSyntax, TheVlan0WithoutAPresentBitIsNoTag) {
  EXPECT_EQ(flow_text(parse_flow_text("vlan_vid=0,actions=drop")), "vlan_tci=0x0000 actions=drop\n");
}

TEST(FlowSyntax, FieldsStandWhereTheModelSays) {
  const RuleList flows = parse_flow_rules(
      "priority=7,tcp,in_port=3,dl_vlan=4,dl_vlan_pcp=5,dl_src=0a:00:00:00:00:01,dl_dst=0c:00:00:00:00:02,nw_src=1.2.3."
      "4,"
      "nw_dst=5.6.7.8,nw_tos=8,tp_src=9,tp_dst=10 actions=drop",
      "flows");
  EXPECT_EQ(flows.fields, RuleFields::openflow);
  EXPECT_EQ(flows.rules[0].priority, 7);
  EXPECT_EQ(flows.rules[0].match.value, (RuleWords{0x0A00000000010003, 0x0C00000000020800, 0x0102030405060708,
                                                   0x00040005, 0x0009'000A'06'08'0000}));
  EXPECT_EQ(flows.rules[0].match.mask,
            (RuleWords{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, 0xFFFF0007, 0xFFFF'FFFF'FF'FC'0000}));
  const auto vlan_of = [](const char* text) { return parse_flow_rules(text, "flows").rules[0].match; };
  EXPECT_EQ(vlan_of("vlan_tci=0x1000/0x1000,actions=drop").mask[3], 0xF0000000U);
  EXPECT_EQ(vlan_of("dl_vlan_pcp=3,actions=drop").mask[3], 0xF0000007U);
  EXPECT_EQ(vlan_of("dl_vlan=0xffff,actions=drop").value[3], 0xFFFF0000U);
}

TEST(FlowSyntax, ReadsWhatADumpPrints) {
  const FlowList flows = parse_flow_text(
      "NXST_FLOW reply (xid=0x4):\n"
      " cookie=0x0, duration=3.2s, table=0, n_packets=0, n_bytes=0, idle_timeout=60, hard_timeout=0, idle_age=3, "
      "hard_age=2, priority=10,tcp,nw_dst=10.0.0.0/8 actions=output:2\n"
      "OFPST_FLOW reply (OF1.3) (xid=0x2):\n"
      " cookie=0x5/-1, duration=1s, n_packets=1, n_bytes=2, send_flow_rem check_overlap reset_counts importance=3 "
      "arp actions=NORMAL\n"
      " priority=10,udp actions=output:2\n");
  EXPECT_EQ(flow_text(flows),
            "priority=10,tcp,nw_dst=10.0.0.0/8 actions=output:2\narp actions=NORMAL\n"
            "priority=10,udp actions=output:2\n");
  EXPECT_THAT(flows.flows, ElementsAre(AllOf(Field(&Flow::line, 2), Field(&Flow::actions, 0)),
                                       AllOf(Field(&Flow::line, 4), Field(&Flow::actions, 1)),
                                       AllOf(Field(&Flow::line, 5), Field(&Flow::actions, 0))));
  EXPECT_THAT(flows.action_lists, ElementsAre(FlowActions{{.kind = Kind::output, .value = 2, .more = 0}},
                                              FlowActions{{.kind = Kind::output, .value = kNormalPort, .more = 0}}));
}

TEST(FlowSyntax, RulesHaveOpenFlow10sFieldsOnly) {
  EXPECT_EQ(parse_flow_rules("ipv6 actions=drop\nudp,tp_dst=1 actions=1\n", "flows").rules.size(), 2U);
  for (const char* const match : {"tcp6", "ipv6,nw_tos=0", "ip,nw_ecn=0", "ip,nw_ttl=1", "vlan_tci=0/0xfff"}) {
    const std::string text = std::string("arp actions=drop\n") + match + " actions=drop\n";
    const std::string error = message_of([&] { parse_flow_rules(text, "flows"); });
    EXPECT_EQ(error, "flows:2: the flow matches fields that OpenFlow 1.0 does not have, which only gswitch can search");
  }
}

RuleWords key_of(const std::string& text) {
  const std::string file = "keys";
  Line line(&file, 1, text);
  return parse_flow_key(line);
}

TEST(FlowKeys, WhatIsNotSaidIsNothing) {
  EXPECT_EQ(key_of("in_port=1"), (RuleWords{1, 0, 0, 0xFFFF0000, 0}));
  EXPECT_EQ(
      key_of(" in_port=1,dl_src=02:00:00:00:00:01 tcp,nw_src=192.0.2.1,tp_dst=80 # web"),
      (RuleWords{0x0200000000010001, 0x0800, std::uint64_t{0xC0000201} << 32, 0xFFFF0000, 0x0000'0050'06'00'0000}));
  EXPECT_EQ(key_of("dl_vlan=5,dl_vlan_pcp=7")[3], 0x00050007U);
  EXPECT_EQ(key_of("vlan_tci=0xf005")[3], 0x00050007U);
  EXPECT_EQ(key_of("vlan_tci=0")[3], 0xFFFF0000U);
  EXPECT_EQ(key_of("dl_vlan=0xffff")[3], 0xFFFF0000U);
  EXPECT_EQ(key_of("icmp,icmp_type=8,icmp_code=1")[4], 0x0008'0001'01'00'0000U);
}

/// Returns a random match of OpenFlow 1.0's fields that the syntax can express.
RuleMatch random_match(Random& random) {
  RuleMatch match;
  const auto has = [&match](FlowLayer layer) {
    const auto exact = [&match](Place place) {
      return place.get(match.mask) == place.ones() ? std::optional(place.get(match.value)) : std::nullopt;
    };
    return has_layer(
        {.ethertype = exact(openflow::kEthertype), .protocol = exact(protocol_place(RuleFields::openflow))}, layer);
  };
  const auto put = [&](Place place, std::uint64_t value, std::uint64_t mask) {
    place.set(match.value, value & mask);
    place.set(match.mask, mask);
  };
  const auto some = [&random] { return random.below(2) == 0; };
  const auto bits = [&](Place place) { return some() ? place.ones() : random.next() & place.ones(); };
  constexpr std::array<std::uint64_t, 8> kTypes{kIpType, kIpType, kIpType, kArpType, kRarpType, kIpv6Type, 0x88CC, 0};
  constexpr std::array<std::uint64_t, 6> kProtocols{kTcpProtocol, kUdpProtocol, kIcmpProtocol, kSctpProtocol, 47, 0};
  if (some()) put(openflow::kInPort, random.next(), 0xFFFF);
  if (some()) put(openflow::kSourceMac, random.next(), bits(openflow::kSourceMac));
  if (some()) put(openflow::kDestinationMac, random.next(), bits(openflow::kDestinationMac));
  if (random.below(4) == 0) put(openflow::kVlan, openflow::kNoVlan, 0xFFFF);
  if (openflow::kVlan.get(match.mask) == 0 && some()) {
    put(openflow::kVlan, random.next() & 0xFFF, openflow::kTaggedMask | (some() ? 0xFFF : random.next() & 0xFFF));
    put(openflow::kVlanPriority, random.next(), random.next() & 7);
  }
  if (some()) return match;
  const std::uint64_t type = kTypes[random.below(kTypes.size())];
  put(openflow::kEthertype, type, 0xFFFF);
  if (!has(FlowLayer::ipv4_or_arp)) return match;
  if (some()) put(openflow::kSource, random.next(), bits(openflow::kSource));
  if (some()) put(openflow::kDestination, random.next(), bits(openflow::kDestination));
  if (some()) put(kTosPlace, type == kIpType ? random.next() : 0, type == kIpType ? openflow::kTosMask : 0);
  if (some()) return match;
  put(protocol_place(RuleFields::openflow), kProtocols[random.below(kProtocols.size())], 0xFF);
  if (!has(FlowLayer::ports)) return match;
  for (const Place place : {source_port_place(RuleFields::openflow), destination_port_place(RuleFields::openflow)}) {
    // ovs-ofctl prints types and codes of ICMP without masks.
    const bool is_icmp = has(FlowLayer::icmp);
    if (some()) put(place, is_icmp ? random.below(256) : random.next(), is_icmp ? 0xFFFF : bits(place));
  }
  return match;
}

/// Returns a random match of any fields that the syntax can express.
SparseMatch random_wide_match(Random& random) {
  using packet_fields::Field;
  SparseMatch match = from_openflow10(random_match(random));
  const auto put = [&](Field field, packet_fields::Number value, packet_fields::Number mask) {
    set(match.mask, field, mask);
    set(match.value, field, {value.high & mask.high, value.low & mask.low});
  };
  const auto some = [&random] { return random.below(3) == 0; };
  const auto whole = [&](Field field) {
    const auto all = packet_fields::all_bits(place_of(field).bits);
    put(field, {random.next() & all.high, random.next() & all.low}, all);
  };
  const auto masked = [&](Field field) {
    const auto all = packet_fields::all_bits(place_of(field).bits);
    put(field, {random.next(), random.next()}, {random.next() & all.high, random.next() & all.low});
  };
  if (some()) put(Field::vlan_tci, {}, {0, random.next() & 0xEFFF});
  if (random.below(4) == 0) {
    match.mask[4] = match.value[4] = match.mask[3] = match.value[3] = 0;
    put(Field::eth_type, {0, random.below(4) == 0 ? kMplsType : kIpv6Type}, {0, 0xFFFF});
  }
  for (const Field field : {Field::mpls_label, Field::mpls_tc, Field::mpls_bos, Field::mpls_ttl}) {
    if (has_layer(kind_of(match), FlowLayer::mpls) && some()) whole(field);
  }
  if (has_layer(kind_of(match), FlowLayer::arp)) {
    if (some()) masked(Field::arp_sha);
    if (some()) whole(Field::arp_tha);
  }
  if (!has_layer(kind_of(match), FlowLayer::ip)) return match;
  if (has_layer(kind_of(match), FlowLayer::ipv6)) {
    constexpr std::array<std::uint64_t, 5> kProtocols{kTcpProtocol, kUdpProtocol, kSctpProtocol, kIcmpv6Protocol, 44};
    // Open vSwitch 3.1 takes a mask that begins with a decimal digit for a length.
    constexpr std::uint64_t kFirstDigit = 0xF000000000000000;
    if (some()) put(Field::ipv6_src, {random.next(), random.next()}, {random.next() | kFirstDigit, random.next()});
    if (some()) whole(Field::ipv6_dst);
    if (some())
      put(Field::ipv6_dst, {random.next(), random.next()}, packet_fields::prefix_mask(random.below(129), 128));
    if (some()) masked(Field::ipv6_label);
    if (!some()) put(Field::nw_proto, {0, kProtocols[random.below(kProtocols.size())]}, {0, 0xFF});
  }
  const bool is_icmpv6 = has_layer(kind_of(match), FlowLayer::icmpv6);
  if (is_icmpv6 && some()) {
    put(Field::tp_src, {0, 135 + random.below(2)}, {0, 0xFFFF});
    put(Field::tp_dst, {}, {0, 0xFFFF});
  } else if (has_layer(kind_of(match), FlowLayer::ipv6) && has_layer(kind_of(match), FlowLayer::ports) && some()) {
    is_icmpv6 ? put(Field::tp_src, {0, random.below(256)}, {0, 0xFFFF}) : masked(Field::tp_src);
  }
  if (has_layer(kind_of(match), FlowLayer::neighbour_discovery)) {
    if (some()) whole(Field::nd_target);
    if (some()) masked(match.value[4] >> 48 == 135 ? Field::arp_sha : Field::arp_tha);
  }
  constexpr std::array<std::uint64_t, 4> kTosMasks{0, kDscpBits, kEcnBits, kDscpBits | kEcnBits};
  put(Field::nw_tos, {0, random.next()}, {0, kTosMasks[random.below(4)]});
  if (some()) whole(Field::nw_ttl);
  constexpr std::array<MaskedBits, 5> kFragments{{{0, 3}, {1, 3}, {3, 3}, {1, 1}, {0, 2}}};
  const MaskedBits fragment = kFragments[random.below(kFragments.size())];
  const bool has_transport = match.mask[4] >> 32 != 0 || match.mask[10] != 0;
  const bool is_later = fragment.value == 3;
  if (some() && (!is_later || !has_transport)) put(Field::nw_frag, {0, fragment.value}, {0, fragment.mask});
  constexpr std::uint64_t kNamedFlags = 0x1FF;
  const std::uint64_t flags = random.next() & kNamedFlags;
  if (has_layer(kind_of(match), FlowLayer::tcp) && some()) {
    put(Field::tcp_flags, {0, flags}, {0, some() ? kTcpFlagBits : random.next() & kNamedFlags});
  }
  return match;
}

FlowActions random_actions(Random& random) {
  FlowActions actions;
  constexpr std::array<std::uint64_t, 12> kMost{0xFF00, 0xFF00, 0x1000, 8, 0, 0, 0, 0, 0, 0x40, 0x10000, 0x10000};
  for (std::uint32_t i = random.below(5); i > 0; --i) {
    FlowAction action{.kind = static_cast<Kind>(random.below(12)), .value = random.next(), .more = 0};
    const auto most = kMost[static_cast<std::size_t>(action.kind)];
    switch (action.kind) {
      case Kind::strip_vlan:
        action.value = 0;
        break;
      case Kind::set_source_mac:
      case Kind::set_destination_mac:
        action.value >>= 16;
        break;
      case Kind::set_source:
      case Kind::set_destination:
        action.value >>= 32;
        break;
      case Kind::set_tos:
        action.value = std::uint64_t{random.below(64)} * 4;
        break;
      default:
        action.value = random.below(static_cast<std::uint32_t>(most));
        break;
    }
    if (action.kind == Kind::enqueue) action.more = static_cast<std::uint32_t>(random.next());
    if (action.kind == Kind::output && random.below(4) == 0) {
      action.value = kControllerPort;
      action.more = random.below(65536);
    }
    actions.push_back(action);
  }
  return actions;
}

FlowList random_flows(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  FlowList flows;
  while (flows.action_lists.size() < 20) {
    const FlowActions actions = random_actions(random);
    if (std::ranges::find(flows.action_lists, actions) == flows.action_lists.end())
      flows.action_lists.push_back(actions);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto priority = static_cast<std::uint16_t>(random.below(8) == 0 ? kDefaultFlowPriority : random.next());
    const SparseMatch match = random.below(2) == 0 ? from_openflow10(random_match(random)) : random_wide_match(random);
    flows.flows.push_back({.match = match, .priority = priority, .actions = random.below(20)});
  }
  return flows;
}

TEST(FlowSyntax, WhatIsWrittenIsReadBackAsTheSame) {
  const FlowList flows = random_flows(1, 20'000);
  const FlowList back = parse_flow_text(flow_text(flows));
  ASSERT_EQ(back.flows.size(), flows.flows.size());
  int narrow = 0;
  for (std::size_t i = 0; i < flows.flows.size(); ++i) {
    const Flow &flow = flows.flows[i], &again = back.flows[i];
    ASSERT_EQ(again.match, flow.match) << flow_match_text(flow.match);
    ASSERT_EQ(again.priority, flow.priority);
    ASSERT_EQ(back.action_lists.at(again.actions), flows.action_lists.at(flow.actions));
    const auto rule = openflow10(flow.match);
    if (!rule) continue;
    ++narrow;
    ASSERT_EQ(*rule, normalised(*rule, RuleFields::openflow));
    ASSERT_EQ(from_openflow10(*rule), flow.match) << flow_match_text(flow.match);
  }
  EXPECT_GT(narrow, 10'000);
  EXPECT_LT(narrow, 15'000);
}

TEST(FlowKeys, WhatIsWrittenIsReadBackAsTheSame) {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const RuleWords key = random_match(random).value;  // The values of a match are those of a header.
    const std::string text = flow_key_text(key);
    const RuleWords back = key_of(text);
    ASSERT_EQ(flow_key_text(back), text);
    ASSERT_EQ(back, key) << text;
  }
}

TEST(FlowSyntax, RefusesToWriteWhatItCannotSay) {
  const auto refuses = [](const std::function<void(RuleMatch&)>& change) {
    RuleMatch match;
    change(match);
    EXPECT_THROW(flow_match_text(from_openflow10(match)), std::invalid_argument);
  };
  refuses([](RuleMatch& match) { match.source_ports = {1, 2}; });
  refuses([](RuleMatch& match) { openflow::kInPort.set(match.mask, 1); });
  refuses([](RuleMatch& match) { openflow::kEthertype.set(match.mask, 1); });
  refuses([](RuleMatch& match) { openflow::kSource.set(match.mask, 1); });
  refuses([](RuleMatch& match) { openflow::kVlan.set(match.mask, 1); });
  refuses([](RuleMatch& match) { openflow::kVlanPriority.set(match.mask, 1); });
  refuses([](RuleMatch& match) { match.mask[3] = std::uint64_t{1} << 32; });
  refuses([](RuleMatch& match) { match.mask[4] = 1; });
  refuses([](RuleMatch& match) { source_port_place(RuleFields::openflow).set(match.mask, 1); });
  for (const packet_fields::Field field :
       {packet_fields::Field::ipv6_src, packet_fields::Field::vlan_tpid, packet_fields::Field::nw_ttl,
        packet_fields::Field::nw_frag, packet_fields::Field::tcp_flags, packet_fields::Field::nd_target,
        packet_fields::Field::arp_sha, packet_fields::Field::mpls_label}) {
    SparseMatch match;
    set(match.mask, field, {0, 1});
    EXPECT_THROW(flow_match_text(match), std::invalid_argument);
  }
  EXPECT_EQ(flow_match_text({}), "");
  EXPECT_THROW(flow_key_text({0, 0, 1, 0, 0}), std::invalid_argument);
}

/// Returns the output lines of `ovs-ofctl parse-flows` for the flows.
std::vector<std::string> as_ovs_reads(const std::string& flows) {
  const ScratchFolder folder;
  const auto file = folder.path() / "flows";
  std::ofstream(file) << flows;
  const std::string command = "ovs-ofctl -F NXM-table_id parse-flows '" + file.string() + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    const std::string line = buffer.data();
    constexpr std::string_view kBefore = "NXT_FLOW_MOD (xid=";
    if (line.starts_with(kBefore)) lines.push_back(line.substr(line.find(": ADD ") + 6));
  }
  return lines;
}

TEST(FlowSyntax, OpenVSwitchReadsTheSame) {
  if (std::system("command -v ovs-ofctl >/dev/null") != 0) GTEST_SKIP() << "ovs-ofctl is not here";
  std::string spelled, expected = flow_text(random_flows(3, 2000));
  spelled = expected;
  for (const auto& [text, normal] : kForms) {
    spelled += text + "\n";
    expected += normal + "\n";
  }
  std::string found;
  for (const std::string& line : as_ovs_reads(spelled)) found += line;
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace penumbra::control::rules
