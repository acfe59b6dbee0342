// SPDX-License-Identifier: Apache-2.0
//
// Tests `ids` as the pipeline runs it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "functions/ids/detect/hyperscan.h"
#include "functions/ids/detect/testing.h"
#include "packet/checksum.h"
#include "packet/parse.h"
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

/// Bits of 40 by 40 hosts, 64 of each pair, are more than a worker holds.
TEST_F(IdsFunction, CountsBitsThatMadeRoom) {
  std::string rules;
  for (int i = 0; i < 64; ++i) {
    rules += fmt::format("alert udp any any -> any any (xbits:set,b{0},track ip_pair,expire 100; noalert; sid:{1};)\n",
                         i, i + 1);
  }
  write("a.rules", rules);
  start("");
  for (std::uint8_t source = 0; source < 40; ++source) {
    for (std::uint8_t destination = 100; destination < 140; ++destination) {
      ASSERT_EQ(reason({.source = source, .destination = destination}), "pass");
    }
  }
  const std::uint64_t evicted = show()["bits_evicted"];
  EXPECT_GE(evicted, 40U * 40 * 64 - 65536);
  const auto metrics = function_->metrics();
  const auto metric = std::ranges::find_if(metrics, [](const FunctionMetric& each) {
    return each.name == "ids_evicted" && each.labels.front().second == "xbits";
  });
  ASSERT_NE(metric, metrics.end());
  EXPECT_EQ(metric->value, evicted);
}

TEST_F(IdsFunction, DropsSinglePacketsIfItIsTold) {
  start(", mode: ips, scope: packet");
  EXPECT_EQ(reason({.payload = "an attack"}), "dropped_by_rule");
  EXPECT_EQ(reason({.payload = "harmless"}), "pass");
}

TEST_F(IdsFunction, DropsByRateFilters) {
  write("threshold.config",
        "rate_filter gen_id 1, sig_id 1, track by_src, count 1, seconds 60, new_action drop, timeout 60\n");
  create("{rules: [.], mode: ips, scope: packet, eve: eve.json}");
  EXPECT_EQ(reason({.payload = "evil"}), "pass");
  EXPECT_EQ(reason({.payload = "evil"}), "dropped_by_rule");
  EXPECT_EQ(trace_, "flow 1, 1 alerts, the first by rule 1, decided by rule 1");
  EXPECT_EQ(reason({.payload = "harmless"}), "pass");
  const auto written = events(3);
  ASSERT_EQ(written.size(), 3U);
  EXPECT_EQ(written[0]["alert"]["action"], "allowed");
  EXPECT_EQ(written[1]["alert"]["action"], "blocked");
  EXPECT_EQ(written[2]["event_type"], "drop");
}

TEST_F(IdsFunction, WritesEventsOfFlowsAndMessages) {
  const auto converse = [this](const std::string& settings) {
    std::filesystem::remove(folder_.path() / "eve.json");
    start(", eve: eve.json" + settings);
    TcpFrames frames;
    for (const Bytes& each : frames.handshake()) FunctionTest::reason(each);
    FunctionTest::reason(frames.segment(true, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"));
    FunctionTest::reason(frames.segment(false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    FunctionTest::reason(frames.segment(true, ""));
    EXPECT_TRUE(runner_->finish());
  };
  converse("");
  auto written = events(2);
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0]["event_type"], "http");
  EXPECT_EQ(written[0]["http"]["hostname"], "h");
  EXPECT_EQ(written[0]["http"]["status"], 200);
  EXPECT_EQ(written[1]["event_type"], "flow");
  EXPECT_EQ(written[1]["app_proto"], "http");
  EXPECT_EQ(written[1]["flow"]["pkts_toserver"], 4);
  converse(", events: [alert, flow]");
  written = events(1);
  ASSERT_EQ(written.size(), 1U);
  EXPECT_EQ(written[0]["event_type"], "flow");
}

TEST_F(IdsFunction, WritesStatistics) {
  start(", mode: ips, eve: eve.json, events: [], stats: 3600");
  reason({.payload = "an attack"});
  reason({.payload = "more"});
  runner_.reset();
  function_.reset();
  const std::vector<nlohmann::json> written = events(1);
  ASSERT_EQ(written.size(), 1U) << "the last statistics";
  EXPECT_EQ(written[0]["event_type"], "stats");
  const nlohmann::json& stats = written[0]["stats"];
  EXPECT_EQ(stats["decoder"]["udp"], 2);
  EXPECT_EQ(stats["ips"]["blocked"], 2);
  EXPECT_EQ(stats["detect"]["alert"], 1);
  EXPECT_EQ(stats["detect"]["engines"][0]["rules_loaded"], 4);
  EXPECT_EQ(stats["app_layer"]["flow"]["http"], 0);
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

TEST_F(IdsFunction, DropsTheFlowOfAStream) {
  write("a.rules",
        "drop tcp any any -> any any (content:\"attack\"; sid:1;)\n"
        "drop http any any -> any any (http.uri; content:\"/evil\"; sid:2;)\n");
  start(", mode: ips, scope: packet, eve: eve.json");
  TcpFrames frames;
  for (const Bytes& each : frames.handshake()) EXPECT_EQ(FunctionTest::reason(each), "pass");
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "GET /ev")), "pass");
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "il HTTP/1.1\r\nA: att")), "pass");
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "ack\r\n")), "dropped_by_rule");
  EXPECT_EQ(trace_, "flow 1, 1 alerts, the first by rule 1, decided by rule 1");
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "\r\n")), "dropped_flow");
  TcpFrames other(8080);
  for (const Bytes& each : other.handshake()) EXPECT_EQ(FunctionTest::reason(each), "pass");
  EXPECT_EQ(FunctionTest::reason(other.segment(true, "GET /%65vil HTTP/1.1\r\n")), "pass");
  EXPECT_EQ(FunctionTest::reason(other.segment(true, "\r\n")), "dropped_by_rule");
  EXPECT_EQ(trace_, "flow 2, 1 alerts, the first by rule 2, decided by rule 2");
  const auto written = events(4);
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(written[0]["alert"]["action"], "blocked");
  EXPECT_EQ(written[3]["event_type"], "drop");
  const auto flows = show(std::vector<std::string>{"flows"});
  EXPECT_EQ(flows["applications"]["http"], 2);
  EXPECT_EQ(flows["sessions"], 2);
  EXPECT_GT(flows["streams"]["bytes"], 40);
}

TEST_F(IdsFunction, SendsTheBytesThatItHasInspected) {
  write("a.rules", "drop tcp any any -> any any (content:\"goodevil\"; sid:1;)\n");
  start(", mode: ips");
  TcpFrames frames;
  for (const Bytes& each : frames.handshake()) FunctionTest::reason(each);
  FunctionTest::reason(frames.segment(true, "good"));
  Bytes repeated = frames.segment(true, "evil?", TcpFrames::kAck, -4);
  Bytes wanted = frames.segment(true, "good?", TcpFrames::kAck, -4);
  for (Bytes* const frame : {&repeated, &wanted}) {
    const PacketHeaders headers = parse_headers(frame->data(), frame->size(), frame->size());
    const std::size_t bytes = frame->size() - headers.transport;
    std::uint8_t* const tcp = frame->data() + headers.transport;
    store(tcp + 16, checksum_of(ipv4_pseudo_sum(frame->data() + 14, ip_protocol::kTcp, bytes) + ones_sum(tcp, bytes)));
  }
  std::vector<function_testing::Packet> packets;
  packets.emplace_back(repeated);
  packets.front().mbuf.nb_segs = 1;
  EXPECT_EQ(send(packets).front().kind, Verdict::Kind::pass);
  EXPECT_EQ(packets.front().frame(), wanted) << "also the checksum";
  EXPECT_EQ(show()["segments"]["rewritten"], 1);
  packets.clear();
  packets.emplace_back(repeated);
  packets.front().mbuf.nb_segs = 1;
  rte_mbuf_refcnt_set(&packets.front().mbuf, 2);
  EXPECT_EQ(function_testing::reason_of(*function_, send(packets).front()), "not_writable");

  start(", mode: ids");
  for (const Bytes& each : TcpFrames().handshake()) FunctionTest::reason(each);
  FunctionTest::reason(frames.segment(true, "good", TcpFrames::kAck, -4));
  EXPECT_EQ(FunctionTest::reason(repeated), "pass") << "a sensor changes no packet";
}

TEST_F(IdsFunction, FollowsExceptionPoliciesOfStreams) {
  write("a.rules", "drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n");
  const auto send_first = [this](bool is_opened) {
    TcpFrames frames;
    const auto opening = frames.handshake();
    if (is_opened) {
      for (const Bytes& each : opening) EXPECT_EQ(FunctionTest::reason(each), "pass");
    }
    return frames;
  };
  start(", mode: ips");
  EXPECT_EQ(FunctionTest::reason(send_first(false).segment(true, "a")), "pass");
  EXPECT_EQ(show()["exceptions"]["midstream"], 1);
  start(", mode: ips, exceptions: {midstream: drop}");
  EXPECT_EQ(FunctionTest::reason(send_first(false).segment(true, "a")), "midstream");
  EXPECT_EQ(FunctionTest::reason(send_first(false).segment(true, "a")), "dropped_flow");
  start(", mode: ips, exceptions: {midstream: drop}, streams: {midstream: true}");
  EXPECT_EQ(FunctionTest::reason(send_first(false).segment(true, "a")), "midstream");
  start(", mode: ips, streams: {midstream: true}");
  TcpFrames middle = send_first(false);
  EXPECT_EQ(FunctionTest::reason(middle.segment(true, "GET /evil HTTP/1.1\r\n")), "pass");
  EXPECT_EQ(FunctionTest::reason(middle.segment(true, "\r\n")), "dropped_by_rule");

  start(", mode: ips");
  TcpFrames frames = send_first(true);
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "x", TcpFrames::kAck, 70000)), "invalid_segment");
  EXPECT_EQ(show()["segments"]["invalid"], 1);
}

/// The connections hold segments until there is no memory. The next segment is dropped, and its flow lives on.
TEST_F(IdsFunction, BoundsTheMemoryOfStreams) {
  write("a.rules", "alert tcp any any -> any any (content:\"evil\"; sid:1;)\n");
  start(", mode: ips, streams: {memory: 1048576}");
  std::vector<TcpFrames> connections;
  std::map<std::string, int> reasons;
  for (std::uint16_t port = 1; port <= 30; ++port) {
    TcpFrames& frames = connections.emplace_back(port);
    for (const Bytes& each : frames.handshake()) FunctionTest::reason(each);
    for (std::int32_t at = 1; at < 64000; at += 1000) {
      ++reasons[FunctionTest::reason(frames.segment(true, std::string(1000, '.'), TcpFrames::kAck, at))];
    }
  }
  EXPECT_GT(reasons["pass"], 500);
  EXPECT_GT(reasons["no_memory"], 500);
  EXPECT_EQ(reasons.size(), 2U);
  EXPECT_EQ(show()["exceptions"]["memory"], reasons["no_memory"]);
  EXPECT_LE(show(std::vector<std::string>{"flows"})["streams"]["memory"], 1100000);
  EXPECT_EQ(FunctionTest::reason(connections.back().segment(true, "")), "pass");
}

TEST_F(IdsFunction, EndsFlowsByTicks) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  write("a.rules", "alert tcp any any -> any any (content:\"evil\"; sid:1;)\n");
  start("");
  const auto sessions = [this] { return show(std::vector<std::string>{"flows"})["sessions"]; };
  TcpFrames frames;
  for (const Bytes& each : frames.handshake()) FunctionTest::reason(each);
  FunctionTest::reason(frames.segment(true, "evil"));
  reason({.source = 9, .payload = "x"});
  EXPECT_EQ(sessions(), 2);
  EXPECT_EQ(runner_->tick(kSecond), 2 * kSecond);
  runner_->tick(30 * kSecond);
  EXPECT_EQ(sessions(), 2);
  runner_->tick(33 * kSecond);
  EXPECT_EQ(sessions(), 1);
  EXPECT_EQ(show()["alerts"], 0) << "the server has not acknowledged the bytes";
  EXPECT_TRUE(runner_->finish());
  EXPECT_EQ(sessions(), 0);
  EXPECT_EQ(show()["alerts"], 1);
}

TEST_F(IdsFunction, FindsInAStreamWhatAReloadCuts) {
  write("a.rules", "drop tcp any any -> any any (content:\"attack\"; sid:1;)\n");
  start(", mode: ips");
  TcpFrames frames;
  for (const Bytes& each : frames.handshake()) FunctionTest::reason(each);
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "att")), "pass");
  write("a.rules",
        "drop tcp any any -> any any (content:\"attack\"; sid:1;)\n"
        "drop tcp any any -> any any (content:\"other\"; sid:2;)\n");
  EXPECT_THAT(reload("{rules: [a.rules], mode: ips}"), ElementsAre("rules added: 1"));
  EXPECT_EQ(FunctionTest::reason(frames.segment(true, "ack")), "dropped_by_rule");
  EXPECT_THAT(message_of([&] { reload("{rules: [a.rules], mode: ips, streams: {depth: 5}}"); }),
              HasSubstr("another `streams` takes a restart"));
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
  EXPECT_THAT(error("{rules: [a.rules], streams: {memory: 5}}"), HasSubstr("1048576"));
  EXPECT_THAT(error("{rules: [a.rules], exceptions: {memory: drop_packet}}"), HasSubstr("only mode ips drops packets"));
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
