// SPDX-License-Identifier: Apache-2.0
//
// Tests what is inspected of packets that are part of no stream, at gaps, and when a protocol is recognized; and the
// exception policies.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "functions/ids/detect/inspection_testing.h"

namespace penumbra::ids {
namespace {

constexpr std::uint8_t kSyn = TcpFrames::kSyn;

ExceptionPolicies policy_of(ExceptionCause cause, ExceptionPolicy policy) {
  ExceptionPolicies policies;
  policies.set(cause, policy);
  return policies;
}

TEST(Inspection, FollowsThePolicyOfConnectionsWithoutABeginning) {
  using Fate = TrackedFlow::Fate;
  struct Case {
    ExceptionPolicy policy;
    bool midstream;
    Sids sids;
    Fate fate;
    bool is_dropped, has_http;
  };
  const std::vector<Case> cases{{ExceptionPolicy::ignore, false, {1, 1}, Fate::inspect, false, false},
                                {ExceptionPolicy::ignore, true, {1, 1}, Fate::inspect, false, true},
                                {ExceptionPolicy::pass_packet, false, {}, Fate::inspect, false, false},
                                {ExceptionPolicy::pass, false, {}, Fate::pass, false, false},
                                {ExceptionPolicy::pass, true, {}, Fate::pass, false, true},
                                {ExceptionPolicy::bypass, false, {}, Fate::bypass, false, false},
                                {ExceptionPolicy::drop_packet, false, {}, Fate::inspect, true, false},
                                {ExceptionPolicy::drop, false, {}, Fate::drop, true, false},
                                {ExceptionPolicy::bypass, true, {}, Fate::bypass, false, false},
                                {ExceptionPolicy::drop, true, {}, Fate::drop, true, false}};
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(kExceptionPolicies[static_cast<std::size_t>(each.policy)]) + (each.midstream ? "+" : ""));
    StreamInspector::Limits limits;
    limits.streams.midstream = each.midstream;
    Connection connection("alert tcp-pkt any any -> any any (content:\"GET\"; sid:1;)\n", limits, 80, kInline,
                          policy_of(ExceptionCause::midstream, each.policy));
    connection.send(true, "GET /a HTTP/1.1\r\n\r\n");
    EXPECT_EQ(connection.outcome.dropped_for.has_value(), each.is_dropped);
    EXPECT_EQ(connection.outcome.flow->fate, each.fate);
    connection.send(true, "GET /b HTTP/1.1\r\n\r\n");
    connection.finish();
    EXPECT_EQ(connection.events.sids(), each.sids);
    EXPECT_EQ(!connection.events.logs["http"].empty(), each.has_http);
  }
}

TEST(Inspection, FollowsThePolicyOfMalformedMessages) {
  const auto fate_of = [](ExceptionPolicy policy, bool is_dropped) {
    Connection connection("alert http any any -> any any (http.uri; content:\"/a\"; sid:1;)\n", {}, 80, kInline,
                          policy_of(ExceptionCause::application, policy));
    connection.handshake();
    connection.send(true, "GET /a HTTP/1.1\r\nContent-Length: many\r\n\r\n");
    EXPECT_TRUE(connection.outcome.causes.has(ExceptionCause::application));
    EXPECT_EQ(connection.outcome.dropped_for.has_value(), is_dropped);
    return connection.outcome.flow->fate;
  };
  EXPECT_EQ(fate_of(ExceptionPolicy::ignore, false), TrackedFlow::Fate::inspect);
  EXPECT_EQ(fate_of(ExceptionPolicy::bypass, false), TrackedFlow::Fate::bypass);
  EXPECT_EQ(fate_of(ExceptionPolicy::drop, true), TrackedFlow::Fate::drop);
}

TEST(Inspection, DropsNothingForAnomaliesThatAreNoErrors) {
  Connection connection("alert http any any -> any any (http.uri; content:\"/a\"; sid:1;)\n", {}, 80, !kInline,
                        policy_of(ExceptionCause::application, ExceptionPolicy::drop));
  connection.handshake();
  connection.say(true, "GET /a HTTP/1.1\r\nno colon\r\n\r\n");
  connection.lose(true, "GET /b HTTP/1.1\r\n");
  connection.say(true, "\r\n");
  std::vector<std::string> events;
  for (const nlohmann::json& each : connection.events.logs["anomaly"]) events.push_back(each["anomaly"]["event"]);
  EXPECT_EQ(events, (std::vector<std::string>{"REQUEST_LINE_INVALID", "stream.reassembly_seq_gap", "LOST_BYTES"}));
  EXPECT_EQ(connection.outcome.flow->fate, TrackedFlow::Fate::inspect);
}

TEST(Inspection, LetsAFlowPassThatARulePasses) {
  StreamInspector::Limits limits;
  limits.streams.flow_limit = 1000;
  Connection connection("pass tcp any any -> any any (content:\"friend\"; sid:1;)\n", limits, 80, kInline,
                        policy_of(ExceptionCause::memory, ExceptionPolicy::drop));
  connection.handshake();
  connection.say(true, "friend");
  EXPECT_EQ(connection.outcome.flow->fate, TrackedFlow::Fate::pass);
  connection.send(true, "abc", TcpFrames::kAck, 999);
  EXPECT_TRUE(connection.outcome.causes.has(ExceptionCause::memory));
  EXPECT_EQ(connection.outcome.dropped_for, std::nullopt);
  EXPECT_EQ(connection.outcome.flow->fate, TrackedFlow::Fate::pass);
}

/// Rules for packets and rules for streams are evaluated in one order on a packet that is part of no stream.
TEST(Inspection, OrdersAllRulesOnAPacketWithoutAStream) {
  Connection connection(
      "alert tcp any any -> any any (content:\"a\"; flowbits:set,seen; sid:1;)\n"
      "alert tcp any any -> any any (flowbits:isset,seen; sid:2;)\n"
      "alert tcp any any -> any any (content:\"a\"; depth:1; sid:3;)\n");
  connection.send(true, "a");
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2, 3}));
  // An inline system decides on the data of a SYN at once.
  Connection other("drop tcp any any -> any any (content:\"a\"; sid:1;)\n", {}, 80, kInline);
  other.send(true, "a", kSyn);
  EXPECT_EQ(other.decided(), 1U);
  EXPECT_FALSE(other.outcome.is_about_flow);
}

TEST(Inspection, EvaluatesRulesAboutTheProtocolOnce) {
  const std::string rules =
      "alert tcp any any -> any any (app-layer-protocol:http; sid:1;)\n"
      "alert tcp any any -> any any (app-layer-protocol:!http; sid:2;)\n"
      "alert tcp any any -> any any (app-layer-protocol:failed; sid:3;)\n"
      "alert tcp any any -> any any (app-layer-protocol:!http; content:\"later\"; sid:4;)\n"
      "alert tcp any any -> any any (app-layer-protocol:http; content:\"later\"; sid:5;)\n";
  const auto sids_of = [&rules](const std::string& text) {
    Connection connection(rules);
    connection.handshake();
    connection.say(true, text);
    connection.say(false, "answer");
    connection.say(true, "later");
    connection.finish();
    return connection.events.sids();
  };
  EXPECT_EQ(sids_of("GET / HTTP/1.1\r\n\r\n"), (Sids{1, 5}));
  EXPECT_EQ(sids_of("SSH-2.0-a\r\n"), (Sids{2, 4}));
  EXPECT_EQ(sids_of("\x01\x02\x03"), (Sids{2, 3, 4}));
}

const std::string kUnknownRules =
    "alert ip any any -> any any (app-layer-protocol:failed; sid:1;)\n"
    "alert ip any any -> any any (app-layer-protocol:!dns; sid:2;)\n";

/// The first bytes of both directions are lost.
TEST(Inspection, KnowsAfterGapsThatAProtocolIsUnknown) {
  Connection connection(kUnknownRules);
  connection.handshake();
  for (const bool client : {true, false}) {
    EXPECT_EQ(connection.events.sids(), Sids{});
    connection.lose(client, "lost");
    connection.say(client, "x");
  }
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2}));
  connection.lose(true, "lost");
  connection.say(true, "x");
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2}));
}

TEST(Inspection, KnowsAfterDatagramsOfBothSidesThatAProtocolIsUnknown) {
  Connection connection(kUnknownRules);
  const Packet there{.source = 1, .destination = 2, .source_port = 1000, .destination_port = 2000, .payload = "x"};
  const Packet back{.source = 2, .destination = 1, .source_port = 2000, .destination_port = 1000, .payload = "x"};
  for (int i = 0; i < 2; ++i) connection.frame(there.frame());
  EXPECT_EQ(connection.events.sids(), Sids{});
  for (const Packet& each : {back, there, back}) connection.frame(each.frame());
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2}));
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2}));
}

TEST(Inspection, InspectsBytesBeforeAGapWithTheNextOnes) {
  const auto say = [](Connection& connection) {
    connection.send(true, "very");
    connection.lose(true, "good");
    connection.send(true, "data");
    connection.send(false, "");
  };
  const std::string rules =
      "alert tcp-stream any any -> any any (content:\"very\"; sid:1;)\n"
      "alert tcp-stream any any -> any any (content:\"data\"; sid:2;)\n"
      "alert tcp-stream any any -> any any (content:\"verydata\"; sid:3;)\n";
  Connection connection(rules);
  connection.handshake();
  say(connection);
  EXPECT_EQ(connection.events.sids(), Sids{});
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2}));
  // Many gaps do not hold the inspection up.
  Connection other(rules);
  other.handshake();
  for (int i = 0; i < 20; ++i) say(other);
  EXPECT_FALSE(other.events.sids().empty());
}

}  // namespace
}  // namespace penumbra::ids
