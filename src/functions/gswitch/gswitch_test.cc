// SPDX-License-Identifier: Apache-2.0
//
// Tests the function in the way in which a pipeline uses it.
#include "functions/gswitch/gswitch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "functions/gswitch/fixture_testing.h"
#include "penumbra/errors.h"
#include "tables/rules/rule_structures.h"
#include "testing/message_of.h"

namespace penumbra::gswitch {
namespace {

using function_testing::Bytes;
using function_testing::Fate;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::dropped;
using testing_support::FrameSpec;
using testing_support::GSwitchTest;

/// Each case has a flow with one field, a frame that matches it, and a frame that differs in that field.
TEST_F(GSwitchTest, MatchesOnEachOfTheTwelveFields) {
  struct Case {
    std::string match;
    FrameSpec hit, other;
    std::uint16_t other_port = 0;
  };
  const FrameSpec plain, tagged{.tag = 0x6005};
  const std::vector<Case> cases{
      {.match = "in_port=1", .hit = plain, .other = plain, .other_port = 1},
      {.match = "dl_src=02:00:00:00:00:01", .hit = plain, .other = {.source_mac = 0x020000000003}},
      {.match = "dl_dst=02:00:00:00:00:02", .hit = plain, .other = {.destination_mac = 0xFFFFFFFFFFFF}},
      {.match = "dl_vlan=5", .hit = tagged, .other = {.tag = 0x6006}},
      {.match = "dl_vlan=0xffff", .hit = plain, .other = tagged},
      {.match = "dl_vlan=5,dl_vlan_pcp=3", .hit = tagged, .other = {.tag = 0x8005}},
      {.match = "dl_type=0x86dd", .hit = {.type = 0x86DD}, .other = plain},
      {.match = "ip,nw_tos=16", .hit = {.tos = 17}, .other = {.tos = 20}},
      {.match = "ip,nw_proto=6", .hit = {.protocol = kTcp}, .other = plain},
      {.match = "ip,nw_src=10.0.0.0/31", .hit = plain, .other = {.source = 0x0A000002}},
      {.match = "ip,nw_dst=10.0.0.2", .hit = plain, .other = {.destination = 0x0A000003}},
      {.match = "udp,tp_src=1024", .hit = plain, .other = {.source_port = 1025}},
      {.match = "udp,tp_dst=53", .hit = plain, .other = {.destination_port = 54}},
      {.match = "icmp,icmp_type=8",
       .hit = {.protocol = kIcmp, .source_port = 8, .destination_port = 0},
       .other = {.protocol = kIcmp, .source_port = 0, .destination_port = 0}},
  };
  for (const Case& each : cases) {
    create(each.match + " actions=output:3\n");
    EXPECT_EQ(fate(each.hit), (Fate{.sent = {{2, each.hit.bytes()}}})) << each.match;
    EXPECT_EQ(fate(each.other, each.other_port), dropped("miss")) << each.match;
  }
}

TEST_F(GSwitchTest, TheHighestPriorityDecidesAndAmongEqualOnesTheFirst) {
  create(
      "priority=1 actions=output:2\n"
      "priority=9,udp,tp_dst=53 actions=drop\n"
      "priority=5,udp,nw_src=10.0.0.1 actions=output:3\n"
      "priority=5,udp,nw_dst=10.0.0.2 actions=output:4\n");
  EXPECT_EQ(reason({}), "dropped_by_flow");
  EXPECT_EQ(trace_, "flow of line 2: drop");
  EXPECT_TRUE(fate(FrameSpec{.destination_port = 54}).sent.contains(2));
  EXPECT_EQ(trace_, "flow of line 3: output:3");
  EXPECT_TRUE(fate(FrameSpec{.source = 1, .destination_port = 54}).sent.contains(3));
  EXPECT_TRUE(fate(FrameSpec{.protocol = kTcp}).sent.contains(1));
}

TEST_F(GSwitchTest, WhatNoFlowMatchesIsTheMisses) {
  create("arp actions=output:2\n");
  EXPECT_EQ(reason({}), "miss");
  EXPECT_EQ(trace_, "miss: drop");
  create("arp actions=output:2\n", ", miss: punt");
  EXPECT_EQ(reason({}), "punt miss_punted");
  create("", ", miss: flood");
  EXPECT_EQ(fate(FrameSpec{}).sent.size(), 3U);
}

TEST_F(GSwitchTest, OutputsToOneOrSeveral) {
  const FrameSpec spec;
  const Bytes bytes = spec.bytes();
  create("in_port=1 actions=output:2,output:4\nin_port=2 actions=all\nin_port=3 actions=in_port\n");
  EXPECT_EQ(fate(spec), (Fate{.sent = {{1, bytes}, {3, bytes}}}));
  EXPECT_EQ(fate(spec, 1), (Fate{.sent = {{0, bytes}, {2, bytes}, {3, bytes}}}));
  EXPECT_EQ(fate(spec, 2), (Fate{.sent = {{2, bytes}}}));
}

TEST_F(GSwitchTest, WhereItCameFromGetsItOnlyByInPort) {
  const FrameSpec spec;
  create("actions=output:2,output:1\n");
  EXPECT_EQ(fate(spec), (Fate{.sent = {{1, spec.bytes()}}}));
  EXPECT_EQ(fate(spec, 1), (Fate{.sent = {{0, spec.bytes()}}}));
  EXPECT_EQ(fate(spec, 2).sent.size(), 2U);
  create("actions=output:1\n");
  EXPECT_EQ(reason(spec), "same_port");
}

TEST_F(GSwitchTest, EachOutputGetsWhatWasSetBeforeIt) {
  const FrameSpec spec;
  FrameSpec tagged = spec, translated = spec;
  tagged.tag = 7;
  translated.tag = 7;
  translated.destination = 0x0A000009;
  create("actions=mod_vlan_vid:7,output:1,output:2,mod_nw_dst:10.0.0.9,output:3\n");
  const Fate both{.sent = {{1, tagged.bytes()}, {2, translated.bytes()}}};
  EXPECT_EQ(fate(spec), both);
  EXPECT_EQ(fate(spec, 2), (Fate{.sent = {{0, tagged.bytes()}, {1, tagged.bytes()}}}));
  create("actions=output:1,mod_vlan_vid:7,output:2\n");
  EXPECT_EQ(fate(spec), (Fate{.sent = {{1, tagged.bytes()}}})) << "the first variant goes nowhere";
  EXPECT_EQ(fate(spec, 1), (Fate{.sent = {{0, spec.bytes()}}})) << "nor does the second";
  EXPECT_EQ(fate(spec, 2), (Fate{.sent = {{0, spec.bytes()}, {1, tagged.bytes()}}}));
}

TEST_F(GSwitchTest, TheHostGetsItWithItsNewHeader) {
  const FrameSpec spec;
  FrameSpec other = spec;
  other.destination_mac = 0x0A0000000001;
  create("in_port=1 actions=mod_dl_dst:0a:00:00:00:00:01,controller\nin_port=2 actions=local\n");
  EXPECT_EQ(reason(spec), "punt controller");
  EXPECT_EQ(out_, other.bytes());
  EXPECT_EQ(reason(spec, 1), "punt local");
  EXPECT_EQ(out_, spec.bytes());
}

TEST_F(GSwitchTest, ShortMtusGetNoLongPackets) {
  FrameSpec spec{.tag = 5, .payload = Bytes(472)};  // 500 bytes of IP
  const auto sent_to = [&](std::uint16_t rx_port) { return fate(spec, rx_port).sent.size(); };
  create(
      "in_port=1 actions=all\nin_port=2 actions=mod_vlan_vid:7,output:4\nin_port=3 "
      "actions=output:4,strip_vlan,output:1\n");
  EXPECT_EQ(sent_to(0), 3U);
  EXPECT_EQ(sent_to(1), 1U);
  EXPECT_EQ(sent_to(2), 2U);
  spec.payload.push_back(0);
  EXPECT_EQ(sent_to(0), 2U);
  EXPECT_EQ(fate(spec).too_long, 1U);
  EXPECT_EQ(reason(spec, 1), "too_long");
  EXPECT_EQ(fate(spec, 2).too_long, 1U);
  spec.tag.reset();
  EXPECT_EQ(fate(spec, 2), (Fate{.sent = {{0, spec.bytes()}}, .too_long = 1}));
}

TEST_F(GSwitchTest, AFrameWithoutAHeaderIsDropped) {
  create("actions=output:2\n");
  EXPECT_EQ(fate(Bytes(13)).reason, "runt");
  EXPECT_EQ(trace_, "no flow was looked for");
  EXPECT_EQ(fate(Bytes(14)).sent.size(), 1U);
}

TEST_F(GSwitchTest, CountsByFlow) {
  create("udp,tp_dst=53 actions=output:2\npriority=40000,arp actions=flood\n");
  const FrameSpec spec;
  for (int i = 0; i < 3; ++i) fate(spec);
  EXPECT_EQ(row(0)["line"], 2);
  EXPECT_EQ(row(0)["flow"], "priority=40000,arp actions=FLOOD");
  EXPECT_EQ(row(0)["packets"], 0);
  EXPECT_TRUE(row(0)["last_hit_seconds_ago"].is_null());
  EXPECT_EQ(row(1)["flow"], "priority=32768,udp,tp_dst=53 actions=output:2");
  EXPECT_EQ(row(1)["packets"], 3);
  EXPECT_EQ(row(1)["bytes"], 3 * spec.bytes().size());
  EXPECT_GE(row(1)["last_hit_seconds_ago"], 0);
  EXPECT_EQ(row(2)["flow"], "miss: drop");
  EXPECT_TRUE(row(2)["line"].is_null());
  const std::vector<std::string> two{"--limit", "2"};
  EXPECT_EQ(function_->show("gswitch", two)["gswitch"].size(), 2U);
  EXPECT_THROW(function_->show("gswitch", std::vector<std::string>{"x"}), std::invalid_argument);
  EXPECT_THROW(function_->show("flows", {}), std::invalid_argument);
  EXPECT_EQ(function_->metrics().front().value, 2U);
}

TEST_F(GSwitchTest, AReloadKeepsWhatBothTablesHave) {
  create("udp,tp_dst=53 actions=mod_vlan_vid:7,output:2\nudp actions=output:3\n");
  const FrameSpec spec;
  FrameSpec tagged = spec;
  tagged.tag = 7;
  fate(spec);
  const auto next = make("# moved down\npriority=7 actions=output:4\nudp,tp_dst=53 actions=mod_vlan_vid:7,output:2\n",
                         ", miss: punt");
  EXPECT_THAT(function_->differences(*next, parse("{flows: table}")),
              ElementsAre("flows added: 2", "flows removed: 2"));
  for (int i = 0; i < 5; ++i) {
    function_->exchange(*next);
    EXPECT_EQ(row(0)["line"], 3);
    EXPECT_EQ(row(0)["packets"], 1 + 2 * i) << "its count goes on";
    EXPECT_EQ(fate(spec), (Fate{.sent = {{1, tagged.bytes()}}}));
    EXPECT_EQ(trace_, "flow of line 3: mod_vlan_vid:7,output:2");
    EXPECT_TRUE(fate(FrameSpec{.destination_port = 9}).sent.contains(3));
    function_->exchange(*next);
    EXPECT_EQ(fate(spec), (Fate{.sent = {{1, tagged.bytes()}}}));
    EXPECT_TRUE(fate(FrameSpec{.destination_port = 9}).sent.contains(2));
    EXPECT_EQ(reason(FrameSpec{.protocol = kTcp}), "miss");
  }
}

TEST_F(GSwitchTest, WhatTakesARestartIsSaid) {
  create("actions=drop\n", ", shader: linear");
  EXPECT_THROW(
      function_->differences(*make("actions=drop\n", ", shader: tuple"), parse("{flows: table, shader: tuple}")),
      InputError);
  EXPECT_TRUE(function_->differences(*make("actions=drop\n"), parse("{flows: table}")).empty());
}

TEST_F(GSwitchTest, SaysHowItSearches) {
  create("actions=drop\n", ", shader: tuple");
  EXPECT_EQ(function_->show("gswitch-shader", {})["structure"], "tuple");
  EXPECT_EQ(function_->show("gswitch-shader", {})["why"], "the configuration");
  create("actions=drop\n");
  const auto chosen = function_->show("gswitch-shader", {});
  EXPECT_TRUE(chosen["measured"].contains(chosen["structure"].get<std::string>()));
  EXPECT_EQ(chosen["entries"], 1) << "the miss is none";
}

TEST_F(GSwitchTest, EveryStructureOnEveryEngineDecidesAlike) {
  for (const RuleStructure& structure : rule_structures()) {
    for (const std::string& engine : conformance::available_engines()) {
      create("priority=2,udp,tp_dst=53 actions=output:2\npriority=1,ip,nw_src=10.0.0.0/8 actions=output:3\n",
             ", shader: " + structure.name, engine);
      EXPECT_TRUE(fate(FrameSpec{}).sent.contains(1)) << structure.name << engine;
      EXPECT_TRUE(fate(FrameSpec{.protocol = kTcp}).sent.contains(2)) << structure.name << engine;
      EXPECT_EQ(reason({.source = 1, .protocol = kTcp}), "miss") << structure.name << engine;
    }
  }
}

/// Flows change by commands between packets. The model is the port of each flow.
TEST_F(GSwitchTest, TheCacheIsNeverOutOfDate) {
  constexpr std::uint16_t kFlows = 8;
  for (const std::string cache : {"0", "4", "64"}) {
    std::string lines;
    for (int i = 0; i < kFlows; ++i) lines += "udp,tp_dst=" + std::to_string(i) + " actions=output:2\n";
    create(lines, ", cache: " + cache);
    std::vector<std::uint16_t> port_of(kFlows, 1);
    std::mt19937 random(7);
    constexpr int kPackets = 3000;
    for (int i = 0; i < kPackets; ++i) {
      const auto flow = static_cast<std::uint16_t>(random() % kFlows);
      if (random() % 16 == 0) {
        port_of[flow] = static_cast<std::uint16_t>(1 + random() % 2);
        const std::string entry =
            "udp,tp_dst=" + std::to_string(flow) + " actions=output:" + std::to_string(port_of[flow] + 1);
        function_->prepare("flow", "replace", {.text = entry, .name = "command"})->apply();
      }
      ASSERT_TRUE(fate(FrameSpec{.destination_port = flow}).sent.contains(port_of[flow])) << i << ", cache " << cache;
      ASSERT_THAT(trace_, HasSubstr("output:" + std::to_string(port_of[flow] + 1)));
    }
    const auto shown = function_->show("gswitch-shader", {})["cache"];
    const int found = shown["found_in_cache"];
    EXPECT_EQ(found > 0, cache != "0");
    EXPECT_EQ(shown["found_in_table"], kPackets - found);
  }
  EXPECT_THAT(message_of([this] { function_->differences(*make("", ", cache: 1"), parse("{cache: 1}")); }),
              HasSubstr("another `cache` takes a restart"));
}

TEST_F(GSwitchTest, AWrongConfigurationIsRefusedWithItsPlace) {
  const auto expect_refusal = [this](const std::string& flows, const std::string& text, const std::string& message) {
    write("table", flows);
    EXPECT_THAT(message_of([&] { FunctionTest::make(text); }), HasSubstr(message)) << text << flows;
  };
  expect_refusal("", "{}", "test.yaml:1");
  expect_refusal("", "{flows: nowhere}", "nowhere");
  expect_refusal("", "{flows: table, miss: forward}", "drop");
  expect_refusal("", "{flows: table, shader: tupel}", "did you mean 'tuple'?");
  expect_refusal("", "{flows: table, flow: x}", "flow");
  expect_refusal("", "{flows: table, cache: -1}", "1048576");
  expect_refusal("# ok\nactions=outptu:1\n", "{flows: table}", "table:2:");
  expect_refusal("actions=drop\nactions=output:5\n", "{flows: table}", "table:2: there is no port 5");
  expect_refusal("actions=drop\n\narp actions=normal\n", "{flows: table}", "table:3: 'normal' cannot be done");
}

}  // namespace
}  // namespace penumbra::gswitch
