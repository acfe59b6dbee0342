// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/stream_inspector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "functions/ids/applications/tls_testing.h"
#include "functions/ids/detect/inspection_testing.h"

namespace penumbra::ids {
namespace {

constexpr std::uint8_t kFin = TcpFrames::kFin, kAck = TcpFrames::kAck;

TEST(StreamInspector, MakesNoMembersThatNobodyReads) {
  Connection connection("alert http any any -> any any (http.uri; content:\"/a\"; sid:1;)\n");
  connection.events.is_read = false;
  connection.handshake();
  connection.say(true, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  connection.finish();
  EXPECT_EQ(connection.events.sids(), Sids{1});
  EXPECT_TRUE(connection.events.logs.empty());
}

TEST(StreamInspector, FindsWhatIsCutAnywhere) {
  const std::string text = "a quick brown fox jumps";
  for (std::size_t first = 1; first < text.size(); ++first) {
    Connection connection(
        "alert tcp any any -> any any (content:\"quick\"; content:\"fox\"; distance:7; within:3; sid:1;)\n"
        "alert tcp any any -> any any (content:\"a quick\"; depth:7; flow:established,to_server; sid:2;)\n"
        "alert tcp-pkt any any -> any any (content:\"brown\"; sid:3;)\n"
        "alert tcp-stream any any -> any any (content:\"brown\"; flow:to_client; sid:4;)\n");
    connection.handshake();
    // The second part comes first, and one byte at a time.
    for (std::size_t at = first; at < text.size(); ++at) {
      connection.send(true, text.substr(at, 1), kAck, static_cast<std::int32_t>(at));
    }
    connection.send(true, text.substr(0, first));
    connection.send(true, text.substr(first));
    connection.send(false, "");
    connection.finish();
    // A rule with a depth sees packets, too.
    const Sids expected = first >= 7 ? Sids{2, 1, 2} : Sids{1, 2};
    const std::size_t brown = text.find("brown");
    Sids found = connection.events.sids();
    const bool is_whole = first <= brown || first >= brown + 5;
    EXPECT_EQ(std::erase(found, 3), is_whole ? 1U : 0U) << first;
    EXPECT_EQ(found, expected) << first;
  }
}

const std::string kPacketRules =
    "alert tcp any any -> any any (content:\"530 \"; depth:4; flow:to_client; sid:1;)\n"
    "alert tcp any any -> any any (content:\"530 \"; dsize:<9; sid:2;)\n"
    "alert tcp any any -> any any (content:\"530 \"; depth:4; flow:only_stream; sid:3;)\n"
    "alert ssh any any -> any any (content:\"530 \"; offset:0; sid:4;)\n";

TEST(StreamInspector, ShowsPacketsToRulesThatSuricataShowsThem) {
  Connection connection(kPacketRules, {}, 21);
  connection.handshake();
  for (int i = 0; i < 3; ++i) connection.say(false, "530 a\r\n");
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2, 1, 2, 1, 2}));
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2, 1, 2, 1, 2, 1, 3}));
}

TEST(StreamInspector, ShowsPacketsToRulesOfTheirProtocol) {
  Connection connection(kPacketRules, {}, 22);
  connection.handshake();
  connection.say(true, "SSH-2.0-a\r\n");
  connection.send(true, "530 a long text");
  EXPECT_EQ(connection.events.sids(), Sids{4});
}

TEST(StreamInspector, AlertsOnceAboutAPacketAndItsStream) {
  Connection connection(kPacketRules, {}, 21, true);
  connection.handshake();
  connection.say(false, "530 a\r\n");
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{1, 2, 3}));
}

TEST(StreamInspector, ReportsAMatchOfALongStreamOnce) {
  Connection connection(
      "alert tcp any any -> any any (content:\"needle\"; sid:1;)\n"
      "alert tcp any any -> any any (content:\"needle\"; offset:9000; sid:2;)\n"
      "alert tcp any any -> any any (content:\"needle\"; depth:500; sid:3;)\n");
  connection.handshake();
  const std::string filler(2990, '.');
  connection.say(true, "needle" + filler + filler + filler + "nee");
  connection.say(true, "dle" + filler);
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{3, 1, 3, 1}));
}

TEST(StreamInspector, FindsASecondMatchBeyondTheContext) {
  Connection connection("alert tcp any any -> any any (content:\"needle\"; offset:9000; sid:2;)");
  connection.handshake();
  connection.say(true, std::string(8999, '.') + "needle");
  connection.say(true, std::string(8000, '.') + "needle");
  connection.finish();
  EXPECT_EQ(connection.events.sids(), Sids{2});
}

TEST(StreamInspector, DecidesOverlapsByThePolicyOfTheReceiver) {
  for (const bool is_old_linux : {false, true}) {
    StreamInspector::Limits limits;
    if (is_old_linux) {
      limits.policies.emplace_back(std::make_shared<AddressSet>(AddressSet::all()), StreamPolicy::linux_old);
    }
    Connection connection(
        "alert tcp-stream any any -> any any (content:\"EVIL\"; sid:1;)\n"
        "alert tcp-stream any any -> any any (content:\"GOOD\"; sid:2;)\n",
        limits);
    connection.handshake();
    connection.send(true, "EVIL", kAck, 4);
    connection.send(true, "GOOD", kAck, 4);
    connection.send(true, "    ");
    connection.send(true, "GOOD");
    connection.send(false, "");
    connection.finish();
    EXPECT_EQ(connection.events.sids(), Sids{is_old_linux ? 2 : 1});
    EXPECT_EQ(connection.events.logs["anomaly"].size(), is_old_linux ? 1U : 2U);
    EXPECT_EQ(connection.events.logs["anomaly"][0]["anomaly"]["event"], "stream.reassembly_overlap_different_data");
  }
}

constexpr const char* kHttpRules =
    "alert http any any -> any any (http.method; content:\"GET\"; http.uri; content:\"/b/evil\"; sid:1;)\n"
    "alert tcp any any -> any any (content:\"secret\"; http_server_body; sid:2;)\n"
    "alert http any any -> any any (http.stat_code; content:\"404\"; sid:3;)\n"
    "alert http any any -> any any (content:\"User-Agent\"; flow:to_server,established; sid:4;)\n"
    "alert tls any any -> any any (content:\"User-Agent\"; sid:5;)\n"
    "alert http any any -> any any (http.uri; content:\"evil\"; content:\"absent\"; http_header; sid:6;)\n"
    "alert http any any -> any 9 (http.uri; content:\"evil\"; sid:7;)\n";

TEST(StreamInspector, EvaluatesRulesOnMessagesOfHttp) {
  Connection connection(kHttpRules, {}, 8080);
  connection.handshake();
  for (int i = 0; i < 2; ++i) {
    connection.say(true, "GET /a/../b/%65vil HTTP/1.1\r\nHost: h.example\r\nUser-Agent: me\r\n\r\n");
    connection.say(false, "HTTP/1.1 404 No\r\nContent-Type: text/plain; x\r\nContent-Length: 8\r\n\r\n(secret)");
  }
  connection.finish();
  Sids found = connection.events.sids();
  std::ranges::sort(found);
  EXPECT_EQ(found, (Sids{1, 1, 2, 2, 3, 3, 4, 4}));
  const nlohmann::json& alert = connection.events.alerts.front();
  EXPECT_EQ(alert["app_proto"], "http");
  EXPECT_EQ(alert["http"]["hostname"], "h.example");
  EXPECT_EQ(alert["direction"], "to_server");
  ASSERT_EQ(connection.events.logs["http"].size(), 2U);
  const nlohmann::json& http = connection.events.logs["http"][1];
  EXPECT_EQ(http["http"], (nlohmann::json{{"hostname", "h.example"},
                                          {"url", "/a/../b/%65vil"},
                                          {"http_user_agent", "me"},
                                          {"http_content_type", "text/plain"},
                                          {"http_method", "GET"},
                                          {"protocol", "HTTP/1.1"},
                                          {"status", 404},
                                          {"length", 8}}));
  EXPECT_EQ(http["dest_port"], 8080);
  EXPECT_EQ(http["tx_id"], 1);
  const nlohmann::json& flow = connection.events.logs["flow"].at(0);
  EXPECT_EQ(flow["app_proto"], "http");
  EXPECT_EQ(flow["flow"]["state"], "established");
  EXPECT_EQ(flow["flow"]["alerted"], true);
  EXPECT_EQ(flow["flow"]["pkts_toserver"], 6);
  EXPECT_EQ(flow["tcp"]["tcp_flags"], "12");
}

TEST(StreamInspector, EvaluatesRulesOnTheHandshakeOfTls) {
  Connection connection(
      "alert tls any any -> any any (tls.sni; content:\"example\"; sid:1;)\n"
      "alert tls any any -> any any (tls.cert_subject; content:\"CN=www\"; sid:2;)\n"
      "alert tls any any -> any any (tls.issuerdn:\"O=Example AG\"; sid:3;)\n"
      "alert tls any any -> any any (tls.subject:!\"O=Example AG\"; sid:4;)\n"
      "alert tls any any -> any any (ssl_state:client_hello; ssl_version:tls1.2; flow:to_server; sid:5;)\n"
      "alert tls any any -> any any (tls.version:1.3; sid:6;)\n",
      {}, 443);
  connection.handshake();
  connection.say(true, kTlsClientHello);
  connection.say(false, kTlsServerFlight);
  connection.say(true, kTlsClientFlight);
  connection.finish();
  Sids found = connection.events.sids();
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  EXPECT_EQ(found, (Sids{1, 2, 3, 5}));
  ASSERT_EQ(connection.events.logs["tls"].size(), 1U);
  const nlohmann::json& tls = connection.events.logs["tls"][0]["tls"];
  EXPECT_EQ(tls["sni"], "www.example.org");
  EXPECT_EQ(tls["subject"], "C=DE, O=Example AG, CN=www.example.org");
  EXPECT_EQ(tls["version"], "TLS 1.2");
  EXPECT_EQ(tls["ja3"]["hash"], "e5a7222573ae6f6cb3e46c3583d620eb");
}

TEST(StreamInspector, EvaluatesRulesOnDatagrams) {
  Connection connection(
      "alert dns any any -> any any (dns.query; content:\"evil\"; sid:1;)\n"
      "alert ip any any -> any any (content:\"example\"; sid:2;)\n"
      "alert tcp-stream any any -> any any (content:\"example\"; sid:3;)\n"
      "alert http any any -> any any (content:\"example\"; sid:4;)\n");
  const std::string query = from_hex("1234 0100 0001 0000 0000 0000 04 6576696c 07 6578616d706c65 00 0001 0001");
  connection.frame(Packet{.payload = query}.frame());
  connection.finish();
  EXPECT_EQ(connection.events.sids(), (Sids{2, 1}));
  EXPECT_EQ(connection.events.logs["dns"].at(0)["dns"]["rrname"], "evil.example");
  EXPECT_EQ(connection.events.logs["flow"].size(), 1U);
}

TEST(StreamInspector, FollowsConnectionsFromTheirMiddleIfWanted) {
  for (const bool midstream : {false, true}) {
    StreamInspector::Limits limits;
    limits.streams.midstream = midstream;
    Connection connection(
        "alert tcp any any -> any any (content:\"ab\"; sid:1;)\n"
        "alert tcp-stream any any -> any any (content:\"ab\"; flow:established; sid:2;)\n",
        limits);
    connection.say(true, "a");
    connection.say(true, "b");
    connection.say(true, "ab");
    connection.finish();
    EXPECT_EQ(connection.events.sids(), midstream ? (Sids{1, 2}) : Sids{1});
  }
}

TEST(StreamInspector, PassesTheRestOfAFlow) {
  Connection connection(
      "pass tcp any any -> any any (content:\"friend\"; sid:1;)\n"
      "alert tcp any any -> any any (content:\"evil\"; sid:2;)\n");
  connection.handshake();
  connection.say(true, "friend" + std::string(3000, '.'));
  connection.say(true, "evil");
  connection.finish();
  EXPECT_EQ(connection.events.sids(), Sids{});
}

TEST(StreamInspector, BoundsTheNumberOfSessions) {
  StreamInspector::Limits limits;
  limits.most_sessions = 4;
  Connection connection("alert tcp any any -> any any (content:\"a\"; sid:1;)", limits);
  for (std::uint8_t source = 1; source <= 9; ++source) connection.frame(Packet{.source = source}.frame());
  EXPECT_EQ(connection.events.logs["flow"].size(), 5U);
  connection.finish();
  EXPECT_EQ(connection.events.logs["flow"].size(), 9U);
  EXPECT_EQ(connection.inspector().streams().memory.used(), 0U);
}

TEST(StreamInspector, DecidesInlineOnThePacketThatCompletesAMatch) {
  Connection connection(
      "drop tcp any any -> any any (content:\"evil\"; sid:1;)\n"
      "drop http any any -> any any (http.uri; content:\"/bad\"; sid:2;)\n",
      {}, 80, kInline);
  connection.handshake();
  connection.send(true, "GET /good HTTP/1.1\r\nA: ev");
  EXPECT_EQ(connection.decided(), 0U);
  connection.send(true, "l", kAck, 1);
  EXPECT_EQ(connection.decided(), 0U);
  connection.send(true, "il\r\n");
  EXPECT_EQ(connection.decided(), 1U);
  EXPECT_TRUE(connection.outcome.is_about_flow);
  ASSERT_EQ(connection.events.alerts.size(), 1U);
  EXPECT_EQ(connection.events.alerts[0]["alert"]["action"], "blocked");
  connection.send(true, "more");
  EXPECT_EQ(connection.outcome.fate, TrackedFlow::Fate::drop);
  EXPECT_LT(connection.inspector().streams().memory.used(), 1000U) << "a dropped flow keeps its headers only";

  Connection other("drop http any any -> any any (http.uri; content:\"/bad\"; sid:2;)\n", {}, 80, kInline);
  other.handshake();
  other.send(true, "GET /bad HTTP/1.1\r\n");
  EXPECT_EQ(other.decided(), 0U);
  other.send(true, "\r\n");
  EXPECT_EQ(other.decided(), 2U);
}

TEST(StreamInspector, LetsTheFirstBytesCountInline) {
  StreamInspector::Limits limits;
  limits.policies.emplace_back(std::make_shared<AddressSet>(AddressSet::all()), StreamPolicy::last);
  Connection connection("drop tcp-pkt any any -> any any (content:\"evil\"; sid:1;)\n", limits, 80, kInline);
  connection.handshake();
  connection.send(true, "good");
  connection.send(true, "....evil", kAck, -4);
  ASSERT_EQ(connection.outcome.payload.size(), 8U) << "the first four bytes were received before";
  EXPECT_EQ(std::string(connection.outcome.payload.begin(), connection.outcome.payload.end()), "goodevil");
  EXPECT_EQ(connection.decided(), 1U);

  Connection other("drop tcp-pkt any any -> any any (content:\"evil\"; sid:1;)\n", limits, 80, kInline);
  other.handshake();
  other.send(true, "good", kAck, 100);
  other.send(true, "evil", kAck, 100);
  EXPECT_EQ(std::string(other.outcome.payload.begin(), other.outcome.payload.end()), "good");
  EXPECT_EQ(other.decided(), 0U) << "the rules see the bytes that are sent";
  EXPECT_EQ(other.events.logs["anomaly"].size(), 1U);
  other.send(true, "good", kAck, 100);
  EXPECT_TRUE(other.outcome.payload.empty());
}

TEST(StreamInspector, TellsWhichSegmentsWereNotInspected) {
  StreamInspector::Limits limits;
  limits.streams.flow_limit = 1000;
  Connection connection("alert tcp any any -> any any (content:\"a\"; sid:1;)\n", limits, 80, kInline);
  connection.send(true, "a");
  EXPECT_TRUE(connection.outcome.causes.has(ExceptionCause::midstream));
  EXPECT_EQ(connection.events.sids(), Sids{1}) << "a rule for streams sees the packet instead";

  Connection other("alert tcp any any -> any any (content:\"a\"; sid:1;)\n", limits, 80, kInline);
  other.handshake();
  other.send(true, "a", kAck, 990);
  EXPECT_FALSE(other.outcome.causes.has(ExceptionCause::memory));
  other.send(true, "abc", kAck, 999);
  EXPECT_TRUE(other.outcome.causes.has(ExceptionCause::memory));
  EXPECT_FALSE(other.outcome.is_invalid);
  other.send(true, "a", kAck, 70000);
  EXPECT_TRUE(other.outcome.is_invalid) << "beyond the server's window";
  other.send(true, "", kFin | kAck);
  other.send(true, "a", kAck, 1);
  EXPECT_TRUE(other.outcome.is_invalid) << "after the end";
}

TEST(StreamInspector, CountsTextsAndParsersAsMemory) {
  StreamInspector::Limits limits;
  limits.streams.memory = 100000;
  Connection connection("alert http any any -> any any (http.uri; content:\"a\"; sid:1;)\n", limits);
  connection.handshake();
  connection.say(true, "POST / HTTP/1.1\r\nContent-Length: 90000\r\n\r\n");
  const std::string piece(1000, '.');
  for (int i = 0; i < 60; ++i) connection.say(true, piece);
  EXPECT_GT(connection.inspector().streams().memory.used(), 60000U);
  EXPECT_EQ(connection.inspector().streams().counters.of(StreamEvent::memory_limit), 0U);
  for (int i = 0; i < 30; ++i) connection.say(true, piece);
  EXPECT_GT(connection.inspector().streams().counters.of(StreamEvent::memory_limit), 0U);
  EXPECT_LT(connection.inspector().streams().memory.used(), 160000U);
  connection.finish();
  EXPECT_EQ(connection.inspector().streams().memory.used(), 0U);
}

/// The table of flows has room for one flow, and the table of sessions for more.
TEST(StreamInspector, KeepsTheStateOfFlowsThatMadeRoom) {
  StreamInspector::Limits limits;
  limits.detector.flows.flows = 1;
  Connection connection("alert udp any any -> any any (content:\"evil\"; sid:1;)", limits);
  connection.frame(Packet{.source = 1, .payload = "evil"}.frame());
  connection.outcome.flow->fate = TrackedFlow::Fate::drop;
  connection.frame(Packet{.source = 2}.frame());
  EXPECT_EQ(connection.inspector().detector().flows().evicted(), 1U);
  EXPECT_EQ(connection.inspector().open_sessions(), 2U);
  connection.frame(Packet{.source = 1}.frame());
  EXPECT_EQ(connection.inspector().open_sessions(), 3U) << "the flow of the first packet is forgotten";
  connection.finish();
  const auto& flows = connection.events.logs["flow"];
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows[0]["flow"].value("action", ""), "drop");
  EXPECT_EQ(flows[1]["flow"].value("action", ""), "");
  EXPECT_EQ(flows[2]["flow"].value("action", ""), "");
  EXPECT_NE(flows[0]["flow_id"], flows[2]["flow_id"]);
}

/// The function decides on a flow after its last packet was inspected.
TEST(StreamInspector, TellsAFateThatFollowsTheLastPacket) {
  Connection connection("drop udp any any -> any any (content:\"evil\"; sid:1;)", {}, 80, kInline);
  connection.frame(Packet{.payload = "evil"}.frame());
  connection.finish();
  EXPECT_EQ(connection.events.logs["flow"].at(0)["flow"].value("action", ""), "drop");
}

TEST(StreamInspector, EndsSessionsWhoseTimeIsOver) {
  constexpr std::uint64_t kASecond = 1000000;
  Connection connection("alert tcp any any -> any any (content:\"evil\"; sid:1;)");
  connection.handshake();
  connection.send(true, "evil");
  connection.frame(Packet{.source = 9}.frame());
  EXPECT_EQ(connection.inspector().open_sessions(), 2U);
  connection.inspector().end_old_sessions(connection.now + 31 * kASecond);
  EXPECT_EQ(connection.inspector().open_sessions(), 1U) << "a flow that was not answered ends first";
  EXPECT_TRUE(connection.events.alerts.empty());
  connection.inspector().end_old_sessions(connection.now + 601 * kASecond);
  EXPECT_EQ(connection.inspector().open_sessions(), 0U);
  EXPECT_EQ(connection.events.sids(), Sids{1}) << "bytes without acknowledgement are inspected at the end";
  EXPECT_EQ(connection.events.logs["flow"].size(), 2U);
  EXPECT_EQ(connection.events.logs["flow"][1]["flow"]["reason"], "timeout");
}

}  // namespace
}  // namespace penumbra::ids
