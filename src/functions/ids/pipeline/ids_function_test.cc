// SPDX-License-Identifier: Apache-2.0
//
// Tests `ids` as the pipeline runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "functions/ids/detect/hyperscan.h"
#include "functions/ids/detect/testing.h"
#include "testing/function_fixture.h"
#include "testing/message_of.h"

namespace penumbra::ids {
namespace {

using function_testing::FunctionTest;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRules =
    "alert udp any any -> any 53 (msg:\"a name\"; content:\"evil\"; sid:1;)\n"
    "drop udp any any -> any any (content:\"attack\"; sid:2;)\n"
    "reject tcp-pkt any any -> any any (content:\"worm\"; sid:3;)\n"
    "pass udp any any -> any any (content:\"attack but good\"; sid:4;)\n";

class IdsFunction : public FunctionTest {
 protected:
  IdsFunction() : FunctionTest("ids") { write("a.rules", kRules); }

  void start(const std::string& settings) { create("{rules: [a.rules]" + settings + "}"); }
  nlohmann::ordered_json show(const std::vector<std::string>& words = {}) { return function_->show("ids", words); }
  std::vector<nlohmann::json> events(std::size_t count, const std::string& file = "eve.json") {
    std::vector<nlohmann::json> found;
    for (int i = 0; i < 2000 && found.size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      found.clear();
      std::ifstream in(folder_.path() / file);
      for (std::string line; std::getline(in, line);) found.push_back(nlohmann::json::parse(line));
    }
    return found;
  }
  std::string reason(const ids::Packet& packet) { return FunctionTest::reason(packet.frame()); }
  /// Reloads another configuration, and returns what changes.
  std::vector<std::string> reload(const std::string& config) {
    const std::unique_ptr<Function> next = make(config);
    std::vector<std::string> lines = function_->differences(*next, parse(config));
    if (!lines.empty()) function_->exchange(*next);
    return lines;
  }
};

TEST_F(IdsFunction, ChangesNothingAsASensor) {
  start(", eve: eve.json");
  EXPECT_EQ(reason({.payload = "evil"}), "pass");
  EXPECT_EQ(trace_, "flow 1, 1 alerts, the first by rule 1");
  EXPECT_EQ(reason({.payload = "an attack"}), "pass");
  EXPECT_EQ(reason({.payload = "an attack but good"}), "pass");
  EXPECT_EQ(reason({.payload = "x"}), "pass");
  const auto written = events(2);
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0]["alert"]["signature_id"], 1);
  EXPECT_EQ(written[0]["event_type"], "alert");
  EXPECT_EQ(written[1]["alert"]["action"], "allowed");
  EXPECT_EQ(show()["packets"]["inspected"], 4);
  EXPECT_EQ(show()["alerts"], 2);
}

TEST_F(IdsFunction, DropsPacketsAndTheirFlows) {
  start(", mode: ips, eve: eve.json");
  EXPECT_EQ(reason({.payload = "evil"}), "pass");
  EXPECT_EQ(reason({.payload = "an attack but good"}), "pass");
  EXPECT_EQ(trace_, "flow 1, 0 alerts, decided by rule 4");
  EXPECT_EQ(reason({.payload = "an attack"}), "dropped_by_rule");
  EXPECT_EQ(reason({.payload = "harmless"}), "dropped_flow");
  EXPECT_EQ(trace_, "flow 1 was dropped");
  EXPECT_EQ(reason({.source = 2, .destination = 1, .source_port = 53, .destination_port = 1000}), "dropped_flow");
  EXPECT_EQ(reason({.source_port = 1001, .payload = "harmless"}), "pass");
  const auto written = events(3);
  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[1]["alert"]["action"], "blocked");
  EXPECT_EQ(written[2]["event_type"], "drop");
  EXPECT_EQ(written[2]["drop"]["len"], 20 + 8 + 9);
}

TEST_F(IdsFunction, DropsSinglePacketsIfItIsTold) {
  start(", mode: ips, scope: packet");
  EXPECT_EQ(reason({.payload = "an attack"}), "dropped_by_rule");
  EXPECT_EQ(reason({.payload = "harmless"}), "pass");
}

TEST_F(IdsFunction, SearchesWithHyperscan) {
  if (const std::string lack = Hyperscan::why_unavailable(); !lack.empty()) {
    EXPECT_THAT(message_of([&] { start(", matcher: hyperscan"); }), HasSubstr(lack));
    GTEST_SKIP() << lack;
  }
  start(", mode: ips, scope: packet, matcher: hyperscan");
  EXPECT_EQ(reason({.payload = "harmless"}), "pass");
  EXPECT_EQ(reason({.payload = "an ATTACK an attack"}), "dropped_by_rule");
  EXPECT_EQ(reason({.payload = "x"}), "pass");
  const auto matcher = [this] { return show(std::vector<std::string>{"matcher"}); };
  EXPECT_EQ(matcher()["matcher"], "hyperscan");
  EXPECT_EQ(matcher()["searched_again"], 0);
  EXPECT_THAT(reload("{rules: [a.rules], mode: ips, scope: packet}"), testing::SizeIs(1));
  EXPECT_EQ(reason({.payload = "an attack"}), "dropped_by_rule");
  EXPECT_EQ(matcher()["matcher"], "patterns");
}

TEST_F(IdsFunction, RejectsPackets) {
  start(", mode: ips");
  EXPECT_EQ(reason({.protocol = ip_protocol::kTcp, .payload = "a worm"}), "rejected_by_rule");
  EXPECT_EQ(show()["rejections"]["lost"], 1) << "the test's emitter has no packets";
}

TEST_F(IdsFunction, SearchesChainsInACopy) {
  start(", mode: ips");
  Bytes frame = ids::Packet{.payload = "an att"}.frame();
  frame[14 + 3] = 20 + 8 + 9;  // the length of the IP packet
  frame[14 + 20 + 5] = 8 + 9;  // the length of UDP
  std::vector<function_testing::Packet> packets;
  packets.emplace_back(frame);
  function_testing::Packet rest({'a', 'c', 'k'});
  packets[0].mbuf.next = &rest.mbuf;
  packets[0].mbuf.nb_segs = 2;
  packets[0].mbuf.pkt_len += 3;
  EXPECT_EQ(function_testing::reason_of(*function_, send(packets).front()), "dropped_by_rule");
  EXPECT_EQ(show(std::vector<std::string>{"matcher"})["searched_again"], 1);
}

TEST_F(IdsFunction, FollowsExceptionPolicies) {
  Bytes cut = ids::Packet{}.frame();
  cut.resize(14 + 20 + 4);
  start("");
  EXPECT_EQ(FunctionTest::reason(cut), "pass");
  EXPECT_EQ(show()["exceptions"]["unreadable"], 1);
  start(", mode: ips");
  EXPECT_EQ(FunctionTest::reason(cut), "unreadable");
  start(", mode: ips, exceptions: {unreadable: ignore}");
  EXPECT_EQ(FunctionTest::reason(cut), "pass");

  const auto fill = [this] {
    for (std::uint8_t i = 1; i <= 16; ++i) {
      EXPECT_EQ(reason({.source = i, .destination = 99}), "pass");
      EXPECT_EQ(reason({.source = 99, .destination = i, .source_port = 53, .destination_port = 1000}), "pass");
    }
  };
  start(", mode: ips, flows: 16");
  fill();
  EXPECT_EQ(reason({.source = 77}), "no_flow");
  EXPECT_EQ(show(std::vector<std::string>{"flows"})["no_room"], 1);
  start(", mode: ips, flows: 16, exceptions: {flows: bypass}");
  fill();
  EXPECT_EQ(reason({.source = 77, .payload = "attack"}), "pass");

  write("a.rules", "alert udp any any -> any any (pcre:\"/(a+)+b(?<!c)$/\"; sid:1;)\n");
  const ids::Packet slow{.payload = std::string(60, 'a') + "bb"};
  start(", mode: ips");
  EXPECT_EQ(reason(slow), "pass");
  EXPECT_EQ(show()["limits"]["pcre"], 1);
  start(", mode: ips, exceptions: {limits: drop}");
  EXPECT_EQ(reason(slow), "limits");
  EXPECT_EQ(reason({.payload = "x"}), "dropped_flow");
}

TEST_F(IdsFunction, ChangesItsRulesWhilePacketsGoThrough) {
  start(", mode: ips, scope: packet, eve: eve.json");
  const std::string config = "{rules: [a.rules], mode: ips, scope: packet, eve: eve.json}";
  EXPECT_EQ(reason({.payload = "virus"}), "pass");
  EXPECT_TRUE(reload(config).empty());
  write("a.rules", std::string(kRules) + "drop udp any any -> any any (content:\"virus\"; sid:9;)\n");
  EXPECT_THAT(reload(config), ElementsAre("rules added: 1"));
  EXPECT_EQ(reason({.payload = "virus"}), "dropped_by_rule");
  write("a.rules", "drop udp any any -> any any (content:\"virus2\"; sid:9;)\n");
  EXPECT_THAT(reload(config), ElementsAre("rules removed: 4", "rules changed: 1"));
  EXPECT_EQ(reason({.payload = "virus"}), "pass");
  EXPECT_EQ(reason({.payload = "virus2"}), "dropped_by_rule");
  write("a.rules", "drop udp any any -> any any (cntent:\"virus3\"; sid:9;)\n");
  EXPECT_THAT(message_of([&] { reload(config); }), HasSubstr("1 rules are refused"));
  EXPECT_EQ(reason({.payload = "virus2"}), "dropped_by_rule") << "wrong rules leave the old ones";
  EXPECT_THAT(message_of([&] { reload("{rules: [a.rules], refused: skip}"); }),
              HasSubstr("another `eve` takes a restart"));
  EXPECT_EQ(events(6).size(), 6U) << "an alert and a drop of each";
}

TEST_F(IdsFunction, KeepsTheStateOfFlowsOverAReload) {
  write("a.rules",
        "alert udp any any -> any any (content:\"first\"; flowbits:set,seen; noalert; sid:1;)\n"
        "drop udp any any -> any any (content:\"second\"; flowbits:isset,seen; sid:2;)\n");
  start(", mode: ips");
  EXPECT_EQ(reason({.payload = "second"}), "pass");
  EXPECT_EQ(reason({.payload = "first"}), "pass");
  write("a.rules",
        "alert udp any any -> any any (content:\"xyz\"; flowbits:set,other; noalert; sid:3;)\n"
        "alert udp any any -> any any (content:\"first\"; flowbits:set,seen; noalert; sid:1;)\n"
        "drop udp any any -> any any (content:\"second\"; flowbits:isset,seen; sid:2;)\n");
  EXPECT_THAT(reload("{rules: [a.rules], mode: ips}"), ElementsAre("rules added: 1"));
  EXPECT_EQ(reason({.payload = "second"}), "dropped_by_rule");
}

TEST_F(IdsFunction, LeavesADryRunWithoutATrace) {
  start("");
  chunk_.is_dry_run = true;
  reason({.payload = "evil"});
  EXPECT_EQ(trace_, "flow 1, 1 alerts, the first by rule 1");
  reason({.source_port = 7, .payload = "evil"});
  EXPECT_EQ(trace_, "flow 1, 1 alerts, the first by rule 1");
}

TEST_F(IdsFunction, ShowsTheCostOfRules) {
  start("");
  reason({.payload = "evil"});
  reason({.payload = "EVIL"});
  const auto profile = show(std::vector<std::string>{"profile"});
  ASSERT_EQ(profile["profile"].size(), 1U);
  EXPECT_EQ(profile["profile"][0]["rule"], "1:1");
  EXPECT_EQ(profile["profile"][0]["checks"], 2);
  EXPECT_EQ(profile["profile"][0]["matches"], 1);
  EXPECT_EQ(show(std::vector<std::string>{"rules"})["evaluated"], 4);
  EXPECT_THROW(show(std::vector<std::string>{"nothing"}), std::invalid_argument);
  EXPECT_THROW(show(std::vector<std::string>{"rules", "all"}), std::invalid_argument);
}

TEST_F(IdsFunction, RefusesWrongConfigurations) {
  const auto error = [this](const std::string& config) { return message_of([&] { make(config); }); };
  EXPECT_THAT(error("{mode: ips}"), HasSubstr("no rules"));
  EXPECT_THAT(error("{rules: [b.rules]}"), HasSubstr("b.rules"));
  EXPECT_THAT(error("{rules: [a.rules], mode: idp}"), HasSubstr("did you mean"));
  EXPECT_THAT(error("{rules: [a.rules], exceptions: {flows: drop}}"), HasSubstr("only mode ips drops packets"));
  EXPECT_THAT(error("{rules: [a.rules], exceptions: {flow: drop}}"), HasSubstr("flows"));
  EXPECT_THAT(error("{rules: [a.rules], flows: 1}"), HasSubstr("16"));
  EXPECT_THAT(error("{rules: [a.rules], eve: \"unix:/" + std::string(120, 'x') + "\"}"), HasSubstr("107 bytes"));
  write("a.rules", "alert upd any any -> any any (sid:1;)\n");
  EXPECT_THAT(error("{rules: [a.rules]}"), HasSubstr("a.rules:1:7: "));
  EXPECT_EQ(make("{rules: [a.rules], refused: skip}")->warnings().size(), 1U);
}

TEST_F(IdsFunction, WritesNoEventsThroughALink) {
  write("other", "");
  std::filesystem::create_symlink("other", folder_.path() / "eve.json");
  EXPECT_THAT(message_of<std::runtime_error>([&] { start(", eve: eve.json"); }), HasSubstr("is a symbolic link"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { start(", eve: ."); }), HasSubstr("cannot write"));
  EXPECT_THAT(message_of<std::runtime_error>([&] { start(", eve: /dev/null"); }), HasSubstr("no regular file"));
}

TEST_F(IdsFunction, OpensTheFileAgainAfterARotation) {
  start(", eve: eve.json");
  reason({.payload = "evil"});
  EXPECT_EQ(events(1).size(), 1U);
  std::filesystem::rename(folder_.path() / "eve.json", folder_.path() / "eve.json.1");
  for (int i = 0; i < 5000 && !std::filesystem::exists(folder_.path() / "eve.json"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  reason({.payload = "evil"});
  EXPECT_EQ(events(1).size(), 1U);
  EXPECT_EQ(events(1, "eve.json.1").size(), 1U);
}

}  // namespace
}  // namespace penumbra::ids
