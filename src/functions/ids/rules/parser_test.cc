// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "functions/ids/rules/testing.h"
#include "testing/message_of.h"

namespace penumbra::ids {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Test>
const Test& test_at(const Rule& rule, std::size_t buffer, std::size_t index) {
  return std::get<Test>(rule.buffers.at(buffer).tests.at(index));
}

TEST(Parser, ReadsAWholeRule) {
  const Rule rule = parse_text(
      "drop http $HOME_NET any <> [1.2.3.0/24,!1.2.3.4] [80,8080] (msg:\"A \\\"B\\\"\"; flow:established,to_server; "
      "content:\"GET|20 2F|x\"; depth:7; nocase; fast_pattern:1,3; content:!\"b\"; distance:2; within:9; "
      "threshold:type limit, track by_dst, count 2, seconds 30; classtype:attempted-user; reference:CVE,2020-1; "
      "metadata:a b, c; sid:77; gid:2; rev:5;)");
  EXPECT_EQ(rule.action, Action::drop);
  EXPECT_EQ(rule.application, Application::http);
  EXPECT_TRUE(rule.bidirectional);
  EXPECT_FALSE(rule.destinations->contains(Ipv4Address{0x01020304}));
  EXPECT_TRUE(rule.destination_ports->contains(8080));
  EXPECT_EQ(rule.message, "A \"B\"");
  EXPECT_EQ(rule.sid, 77U);
  EXPECT_EQ(rule.gid, 2U);
  EXPECT_EQ(rule.rev, 5U);
  EXPECT_EQ(rule.references.at(0).system, "cve");
  EXPECT_THAT(rule.metadata, ElementsAre("a b", "c"));
  EXPECT_EQ(rule.flow.value().direction, FlowTest::Direction::to_server);
  EXPECT_EQ(rule.threshold.value().track, Track::destination);
  const auto& first = test_at<Content>(rule, 0, 0);
  EXPECT_EQ(first.bytes, "GET /x");
  EXPECT_EQ(first.depth.value().number, 7);
  EXPECT_TRUE(first.nocase);
  EXPECT_EQ(first.chop_offset, 1);
  EXPECT_EQ(first.chop_length, 3);
  const auto& second = test_at<Content>(rule, 0, 1);
  EXPECT_TRUE(second.negated && second.is_relative());
  EXPECT_EQ(second.distance.value().number, 2);
  EXPECT_EQ(second.within.value().number, 9);
}

TEST(Parser, GroupsTestsByBuffer) {
  const Rule rule = parse_options(R"(content:"a"; http_uri; content:"b"; content:"c"; http_uri; distance:0; )"
                                  R"(isdataat:5,relative; isdataat:9; urilen:>4;)",
                                  "tcp");
  ASSERT_EQ(rule.buffers.size(), 2U);
  EXPECT_EQ(rule.buffers[0].buffer, Buffer::http_uri);
  EXPECT_EQ(test_at<Content>(rule, 0, 1).bytes, "c");
  EXPECT_TRUE(test_at<IsDataAt>(rule, 0, 2).relative);  // a relative test follows the match before it
  EXPECT_EQ(test_at<BufferSize>(rule, 0, 3).length.low, 5U);
  EXPECT_EQ(rule.buffers[1].buffer, Buffer::payload);
  EXPECT_EQ(test_at<IsDataAt>(rule, 1, 1).position.number, 9);
}

TEST(Parser, SharesVariablesOfNumbers) {
  const Rule rule = parse_options(
      "byte_extract:1,0,a; byte_math:bytes 1, offset a, oper +, rvalue a, result b; "
      "byte_test:1,=,b,a;");
  EXPECT_THAT(rule.variables, ElementsAre("a", "b"));
  EXPECT_EQ(test_at<ByteMath>(rule, 0, 1).field.offset.variable, 0);
  EXPECT_EQ(test_at<ByteMath>(rule, 0, 1).variable, 1);
  EXPECT_EQ(test_at<ByteTest>(rule, 0, 2).value.variable, 1);
  EXPECT_THAT(message_of([] { parse_options("byte_test:1,=,later,0; byte_extract:1,0,later;"); }),
              HasSubstr("'later' is no number, and no byte_extract or byte_math before it"));
}

/// Tests of one buffer are evaluated together, and a modifier belongs to an earlier content.
TEST(Parser, RefusesVariablesThatAreStoredTooLate) {
  for (const char* const options :
       {R"(content:"a"; http.uri; byte_extract:1,0,v; pkt_data; byte_test:1,=,v,0;)",
        R"(content:"a"; byte_extract:1,0,v; depth:v;)", R"(content:"a"; byte_extract:1,0,v; within:v;)",
        R"(content:"a"; http.uri; byte_extract:1,0,v; pkt_data; isdataat:v;)",
        R"(content:"a"; http.uri; byte_extract:1,0,v; pkt_data; byte_jump:1,v;)",
        R"(content:"a"; http.uri; byte_extract:1,0,v; pkt_data; byte_jump:v,1;)",
        R"(content:"a"; http.uri; byte_extract:1,0,v; pkt_data; byte_extract:1,v,w;)"}) {
    EXPECT_THAT(message_of([&] { parse_options(options, "tcp"); }), HasSubstr("a variable is read before it is stored"))
        << options;
  }
  EXPECT_EQ(parse_options(R"(http.uri; byte_extract:1,0,v; pkt_data; byte_test:1,=,v,0;)", "tcp").buffers.size(), 2U);
}

TEST(Parser, TellsWhatARuleNeeds) {
  const std::vector<std::pair<std::string, Needs>> cases{
      {rule_text("ttl:1;"), Needs::packet},
      {rule_text(R"(content:"a";)", "udp"), Needs::packet},
      {rule_text(R"(content:"a";)", "tcp-pkt"), Needs::packet},
      {rule_text(R"(content:"a"; flow:no_stream;)", "tcp"), Needs::packet},
      {rule_text(R"(tcp.hdr; content:"a";)", "tcp"), Needs::packet},
      {rule_text(R"(content:"a";)", "tcp"), Needs::stream},
      {rule_text("dsize:1;", "tcp-stream"), Needs::stream},
      {rule_text("stream_size:both,>,1;", "tcp"), Needs::stream},
      {rule_text(R"(content:"a"; http_uri;)", "tcp"), Needs::application},
      {rule_text(R"(content:"a";)", "dns"), Needs::application}};
  for (const auto& [text, needs] : cases) EXPECT_EQ(parse_text(text).needs(), needs) << text;
}

TEST(Parser, RefusesWrongRulesAtTheirPlace) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"alert tcp any any -> any any", "test.rules:1:1: rule has no options in parentheses"},
      {"alert tcp any any -> any any (sid:1;", "test.rules:1:36: rule does not end in ')'"},
      {"alert tcp any any -> any any (sid:1)", "1:31: option does not end in ';': 'sid:1'"},
      {"alart tcp any any -> any any (sid:1;)", "1:1: unknown action: 'alart'; there are alert, pass"},
      {"alert tpc any any -> any any (sid:1;)", "1:7: unknown protocol: 'tpc': did you mean 'tcp'?"},
      {"alert nfs any any -> any any (sid:1;)", "1:7: protocol is not supported yet: 'nfs'"},
      {"alert tcp any any <- any any (sid:1;)", "1:19: unknown direction: '<-'; there are"},
      {"alert tcp any any -> any (sid:1;)", "1:26: rule has no destination ports"},
      {"alert tcp any any -> any any x (sid:1;)", "1:30: header has a word too many: 'x'"},
      {"alert tcp any any -> any any (msg:\"a\";)", "1:1: rule has no sid"},
      {"alert tcp any any -> any any (content:\"a;b\"; sid:1;)",
       "has no closing quote; ';' within quotes is written '\\;'"},
      {"alert tcp any any -> any any (content:\"\"; sid:1;)", "is empty"},
      {"alert tcp any any -> any any (content:\"|41\"; sid:1;)", "has no second '|'"},
      {"alert tcp any any -> any any (content:\"a\\n\"; sid:1;)",
       "1:41: value of 'content' is wrong: '\\n' is no escape"},
      {"alert tcp any any -> any any (content:\"a\",nocase; sid:1;)", "modifiers are keywords of their own"},
      {"alert tcp any any -> any any (content:\"" + std::string(256, 'a') + "\"; sid:1;)", "more than 255 bytes"},
      {"alert tcp any any -> any any (content:\"a\"; fast_pattern; content:\"b\"; fast_pattern; sid:1;)",
       "a rule has one fast pattern"},
      {"alert tcp any any -> any any (content:\"a\"; http_uri; http_method; sid:1;)", "content has two buffers"},
      {"alert tcp any any -> any any (pcre:\"/a/UP\"; sid:1;)", "'P' names a second buffer"},
      {"alert tcp any any -> any any (pcre:\"/a/q\"; sid:1;)", "'q' is no option of pcre"},
      {"alert tcp any any -> any any (byte_test:9,=,1,0; sid:1;)", "more or less bytes than 1 to 8"},
      {"alert tcp any any -> any any (byte_test:3,=,1,0,string,dec,little; sid:1;)", "has a text and a byte order"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(message_of([&, &rule = text] { parse_text(rule); }), HasSubstr(message)) << text;
  }
}

TEST(Parser, NamesTheLineAndColumnOfAContinuedRule) {
  const std::string text =
      "# comment\n\nalert tcp any any -> any any (msg:\"a\"; \\\n   flags:S; \\\r\n  bad:1; sid:5;)\n";
  EXPECT_EQ(message_of([&] { parse_text(text); }), "test.rules:5:3: unknown keyword: 'bad'");
  LineJoiner lines("test.rules", text);
  EXPECT_EQ(find_sid(lines.next().value()), 5U);
}

TEST(Parser, FindsTheSidOfRefusedRules) {
  const auto sid_of = [](const std::string& text) { return find_sid(RuleSource("f", 1, text)); };
  EXPECT_EQ(sid_of("bad (msg:\"my sid: is\"; sid : 12 ;)"), 12U);
  EXPECT_EQ(sid_of("bad (sid:x;)"), std::nullopt);
  EXPECT_EQ(sid_of("bad (nosid:3;)"), std::nullopt);
}

}  // namespace
}  // namespace penumbra::ids
