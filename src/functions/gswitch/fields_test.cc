// SPDX-License-Identifier: Apache-2.0
//
// Tests flows with fields that OpenFlow 1.0 does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "control/rules/flow_syntax.h"
#include "functions/gswitch/fixture_testing.h"
#include "packet/packet_key_testing.h"
#include "penumbra/errors.h"
#include "testing/message_of.h"

namespace penumbra::gswitch {
namespace {

using function_testing::Fate;
using packet_fields::Field;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::dropped;
using testing_support::GSwitchTest;
using Spec = packet_fields::testing_support::FrameSpec;

constexpr std::array kStructures{"bloom", "tuple"};

Spec ipv6(std::uint8_t protocol = ip_protocol::kTcp) {
  Spec spec;
  spec.type = ethertype::kIpv6;
  spec.source = {0x20010DB800000000, 1};
  spec.destination = {0x20010DB800000000, 2};
  spec.protocol = protocol;
  spec.payload.resize(8);
  return spec;
}

/// Each case has a flow with one field, a frame that matches it, and a frame that differs in that field.
TEST_F(GSwitchTest, MatchesOnFieldsOfLaterVersions) {
  struct Case {
    std::string match;
    Spec hit, other;
  };
  std::vector<Case> cases;
  const auto add = [&cases](const char* match, Spec hit, auto change) {
    Spec other = hit;
    change(other);
    cases.push_back({match, std::move(hit), std::move(other)});
  };
  Spec tcp;
  tcp.protocol = ip_protocol::kTcp;
  Spec fragment = tcp;
  fragment.fragment = 0x2000;
  Spec mpls;
  mpls.type = 0x8847;
  mpls.payload = {0x12, 0x34, 0x51, 0x40, 0, 0, 0, 0};
  Spec ping = ipv6(ip_protocol::kIcmpv6);
  ping.source_port = 128;
  ping.destination_port = 0;
  add("ipv6,ipv6_src=2001:db8::1", ipv6(), [](Spec& spec) { spec.source.low = 3; });
  add("ipv6,ipv6_dst=2001:db8::/64", ipv6(), [](Spec& spec) { spec.destination.high += 1; });
  add("ipv6,ipv6_dst=::2/::ffff", ipv6(), [](Spec& spec) { spec.destination.low += 1; });
  add("ipv6,ipv6_label=0", ipv6(), [](Spec& spec) { spec.label = 1; });
  add("tcp6,tp_dst=53", ipv6(), [](Spec& spec) { spec.destination_port = 54; });
  add("udp6,udp_src=1024", ipv6(ip_protocol::kUdp), [](Spec& spec) { spec.source_port = 1025; });
  add("icmp6,icmpv6_type=128", ping, [](Spec& spec) { spec.source_port = 129; });
  add(
      "ipv6,nw_tos=16",
      [] {
        Spec spec = ipv6();
        spec.tos = 17;
        return spec;
      }(),
      [](Spec& spec) { spec.tos = 20; });
  add("ipv6,nw_ttl=64", ipv6(), [](Spec& spec) { spec.ttl = 63; });
  add("ip,nw_ttl=64", tcp, [](Spec& spec) { spec.ttl = 63; });
  add("ip,nw_ecn=0", tcp, [](Spec& spec) { spec.tos = 1; });
  add("ip,ip_frag=first", fragment, [](Spec& spec) { spec.fragment = 0; });
  add("ip,ip_frag=yes", fragment, [](Spec& spec) { spec.fragment = 0x4000; });
  add("ip,ip_frag=no", tcp, [](Spec& spec) { spec.fragment = 0x2010; });
  add("ip,ip_frag=not_later", fragment, [](Spec& spec) { spec.fragment = 0x2010; });
  add("tcp,tcp_flags=+ack-syn", tcp, [](Spec& spec) { spec.tcp_flags = 0x012; });
  add("tcp6,tcp_flags=0x10", ipv6(), [](Spec& spec) { spec.tcp_flags = 0x011; });
  add("vlan_tci=0/0xfff", tcp, [](Spec& spec) { spec.tags = {{ethertype::kTag, 5}}; });
  add("mpls,mpls_label=0x12345", mpls, [](Spec& spec) { spec.payload[0] = 0x13; });
  add("mpls,mpls_bos=1", mpls, [](Spec& spec) { spec.payload[2] = 0x50; });
  for (const Case& each : cases) {
    create(each.match + " actions=output:3\n");
    EXPECT_EQ(function_->show("gswitch-shader", {})["fields"], "all") << each.match;
    EXPECT_EQ(fate(each.hit.bytes()), (Fate{.sent = {{2, each.hit.bytes()}}})) << each.match;
    EXPECT_EQ(fate(each.other.bytes()), dropped("miss")) << each.match;
  }
}

TEST_F(GSwitchTest, FragmentsHaveNoPortsWhateverTheFields) {
  Spec spec;
  spec.fragment = 0x2000;
  create("priority=2,udp,tp_dst=53 actions=output:2\npriority=1,udp,ip_frag=first actions=output:3\n");
  EXPECT_TRUE(fate(spec.bytes()).sent.contains(2));
  spec.fragment = 0;
  EXPECT_TRUE(fate(spec.bytes()).sent.contains(1));
}

TEST_F(GSwitchTest, TheFlowsChooseTheFields) {
  const auto shown = [this](const char* what) { return function_->show("gswitch-shader", {})[what]; };
  create("ipv6 actions=drop\ndl_vlan=5 actions=drop\n");
  EXPECT_EQ(shown("fields"), "openflow10");
  create("ip,nw_ttl=1 actions=drop\n");
  EXPECT_EQ(shown("fields"), "all");
  EXPECT_EQ(shown("structure"), "bloom");
  EXPECT_EQ(shown("why"), "the default for these fields");
  create("actions=drop\n", ", fields: all, shader: tuple");
  EXPECT_EQ(shown("fields"), "all");
  EXPECT_EQ(shown("structure"), "tuple");
  EXPECT_EQ(shown("why"), "the configuration");
  const auto error = [this](const char* flows, const char* more) { return message_of([&] { make(flows, more); }); };
  EXPECT_THAT(error("actions=drop\nip,nw_ttl=1 actions=drop\n", ", fields: openflow10"),
              HasSubstr("table:2: the flow matches fields that OpenFlow 1.0 does not have"));
  EXPECT_THAT(error("ip,nw_ttl=1 actions=drop\n", ", shader: fast"), HasSubstr("only `bloom` and `tuple` search"));
  EXPECT_THAT(error("", ", fields: openflow13"), HasSubstr("did you mean 'openflow10'?"));
}

TEST_F(GSwitchTest, CommandsTakeTheFieldsOfTheTable) {
  const auto change = [this](const char* action, const char* text) {
    return message_of([&] { function_->prepare("flow", action, {.text = text, .name = "command"})->apply(); });
  };
  create("actions=drop\n");
  EXPECT_THAT(change("add", "ip actions=drop\ntcp6,tp_dst=80 actions=output:2"),
              HasSubstr("command:2: the flow matches fields that OpenFlow 1.0 does not have"));
  EXPECT_THAT(change("bundle", "delete ipv6,ipv6_src=::1"), HasSubstr("`fields: all`"));
  create("priority=9,actions=drop\n", ", fields: all");
  EXPECT_EQ(change("add", "tcp6,tp_dst=53 actions=output:2"), "no error");
  EXPECT_TRUE(fate(ipv6().bytes()).sent.contains(1));
  EXPECT_EQ(row(0)["flow"], "priority=32768,tcp6,tp_dst=53 actions=output:2");
  EXPECT_EQ(row(0)["packets"], 1);
  EXPECT_EQ(change("replace", "tcp6,tp_dst=53 actions=output:3"), "no error");
  EXPECT_TRUE(fate(ipv6().bytes()).sent.contains(2));
  EXPECT_EQ(function_->tables()[0].lines(),
            "priority=32768,tcp6,tp_dst=53 actions=output:3\npriority=9 actions=drop\n");
  EXPECT_EQ(change("bundle", "modify ipv6 actions=output:4"), "no error");
  EXPECT_TRUE(fate(ipv6().bytes()).sent.contains(3));
  EXPECT_EQ(change("del", "ipv6,nw_proto=6,tcp_dst=53"), "no error");
  EXPECT_EQ(fate(ipv6().bytes()), dropped("dropped_by_flow"));
}

TEST_F(GSwitchTest, AReloadMayLeaveFieldsOutButNotAddThem) {
  create("tcp6 actions=output:2\n");
  const auto narrow = make("ipv6 actions=output:3\n");
  EXPECT_THAT(function_->differences(*narrow, parse("{flows: table}")),
              ElementsAre("flows added: 1", "flows removed: 1"));
  for (int i = 0; i < 3; ++i) {
    function_->exchange(*narrow);
    EXPECT_TRUE(fate(ipv6().bytes()).sent.contains(2));
    function_->exchange(*narrow);
    EXPECT_TRUE(fate(ipv6().bytes()).sent.contains(1));
  }
  create("ipv6 actions=output:3\n");
  EXPECT_THAT(message_of([&] { function_->differences(*make("tcp6 actions=drop\n"), parse("{flows: table}")); }),
              HasSubstr("fields that OpenFlow 1.0 does not have take a restart"));
}

/// Returns the key by which the switch decides.
SparseWords key_of(const Spec& spec, std::uint16_t in_port) {
  SparseWords key = spec.key(in_port);
  if (get(key, Field::nw_frag).low != 0) {
    for (const Field field : {Field::tp_src, Field::tp_dst}) set(key, field, {});
  }
  return key;
}

/// Returns a match of some fields of a frame.
SparseMatch random_match(Random& random) {
  const Spec spec = packet_fields::testing_support::random_frame(random, 2);
  const SparseWords key = key_of(spec, static_cast<std::uint16_t>(1 + random.below(4)));
  while (true) {
    SparseMatch match;
    const auto take = [&](Field field) {
      packet_fields::Number mask = packet_fields::all_bits(place_of(field).bits);
      const bool is_address = place_of(field).bits >= 32;
      if (is_address && random.below(2) == 0)
        mask = packet_fields::prefix_mask(random.below(place_of(field).bits + 1U), place_of(field).bits);
      if (field == Field::tcp_flags) mask.low = 0x1F & random.next();
      if (field == Field::vlan_tci) mask.low &= random.below(2) == 0 ? 0xFFFF : 0x1FFF;
      set(match.mask, field, mask);
    };
    if (random.below(4) != 0) take(Field::eth_type);
    if (random.below(2) == 0) take(Field::nw_proto);
    for (std::size_t field = 0; field < packet_fields::kFields; ++field) {
      if (random.below(6) == 0 && static_cast<Field>(field) != Field::vlan_tpid) take(static_cast<Field>(field));
    }
    for (std::size_t word = 0; word < key.size(); ++word) match.value[word] = key[word] & match.mask[word];
    try {
      control::rules::flow_match_text(match);
      return match;
    } catch (const std::invalid_argument&) {
      continue;  // The match lacks a field that another one needs.
    }
  }
}

/// The oracle tries all flows in the order of their priorities and lines.
TEST_F(GSwitchTest, RandomFlowsOfAllFieldsDecideAsALinearSearch) {
  constexpr std::size_t kFlows = 200, kFrames = 1500 / kSanitizerScale;
  for (const char* const structure : kStructures) {
    for (const std::string& engine : conformance::available_engines()) {
      Random random(11);
      std::string text;
      std::vector<std::pair<std::uint32_t, SparseMatch>> flows;
      for (std::size_t i = 0; i < kFlows; ++i) {
        const SparseMatch drawn = random_match(random);
        // The more bits a flow matches, the higher its priority, so that many flows decide. Some priorities are equal.
        int bits = 0;
        for (const std::uint64_t word : drawn.mask) bits += std::popcount(word);
        flows.emplace_back(bits / 4, drawn);
        const std::string match = control::rules::flow_match_text(flows.back().second);
        text += "priority=" + std::to_string(flows.back().first) + "," + match + " actions=in_port\n";
      }
      create(text, std::string(", fields: all, shader: ") + structure, engine);
      std::set<std::size_t> winners;
      for (std::size_t i = 0; i < kFrames; ++i) {
        const Spec spec = packet_fields::testing_support::random_frame(random, 2);
        const auto rx_port = static_cast<std::uint16_t>(random.below(4));
        const SparseWords key = key_of(spec, static_cast<std::uint16_t>(rx_port + 1));
        std::size_t best = kFlows;
        for (std::size_t flow = 0; flow < kFlows; ++flow) {
          const bool is_better = best == kFlows || flows[flow].first > flows[best].first;
          if (is_better && flows[flow].second.matches(key)) best = flow;
        }
        fate(spec.bytes(), rx_port);
        ASSERT_EQ(trace_, best == kFlows ? "miss: drop" : "flow of line " + std::to_string(best + 1) + ": IN_PORT")
            << structure << " " << engine << " " << testing::PrintToString(spec.bytes());
        winners.insert(best);
      }
      EXPECT_GT(winners.size(), kFrames / 50);
    }
  }
}

}  // namespace
}  // namespace penumbra::gswitch
