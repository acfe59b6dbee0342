// SPDX-License-Identifier: Apache-2.0
//
// Gives every keyword a right and a wrong value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "functions/ids/rules/builder.h"
#include "functions/ids/rules/testing.h"
#include "testing/message_of.h"

namespace penumbra::ids {
namespace {

using testing::HasSubstr;

struct Case {
  std::string keyword;
  std::string right;    ///< Options that are taken.
  std::string wrong;    ///< Options that are refused.
  std::string message;  ///< Part of the refusal's message.
  std::string protocol = "ip";
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kAll{
      // About the rule.
      {"msg", R"(msg:"a\;b";)", "msg:text;", "value of 'msg' is wrong: 'text' has no quotes"},
      {"sid", "", "sid:0;", "'0' is no number from 1 to 4294967295"},
      {"gid", "gid:3;", "gid:x;", "'x' is no number from 0"},
      {"rev", "rev:3;", "rev:-1;", "'-1' is no number"},
      {"priority", "priority:2;", "priority:0;", "'0' is no number from 1"},
      {"classtype", "classtype:trojan-activity;", "classtype;", "keyword without its value: 'classtype'"},
      {"reference", "reference:url,example.com;", "reference:url;", "'url' is not 'SYSTEM,ID'"},
      {"metadata", "metadata:a b, c d;", "metadata:;", "keyword without its value"},
      {"target", "target:src_ip;", "target:source;", "'source' is neither"},
      {"noalert", "noalert;", "noalert:1;", "follows a keyword without a value"},
      {"alert", "alert;", "alert:1;", "follows a keyword without a value"},
      {"prefilter", "ttl:1; prefilter;", "prefilter:1;", "follows a keyword without a value"},
      // Headers.
      {"dsize", "dsize:300<>400;", "dsize:400<>300;", "'400<>300' is no number or range"},
      {"ttl", "ttl:<5;", "ttl:256;", "'256' is no number or range with members up to 255"},
      {"tos", "tos:!8;", "tos:!;", "'!' is no number"},
      {"id", "id:65535;", "id:65536;", "'65536' is no number"},
      {"ip_proto", "ip_proto:!tcp;", "ip_proto:tcpp;", "'tcpp' is no number"},
      {"itype", "itype:>=8;", "itype:8x;", "'8x' is no number", "icmp"},
      {"icode", "icode:0;", "icode:>255;", "'>255' is no number", "icmp"},
      {"icmp_id", "icmp_id:1;", "icmp_id:65536;", "'65536' is no number", "icmpv4"},
      {"icmp_seq", "icmp_seq:1;", "icmp_seq:;", "keyword without its value", "icmpv6"},
      {"seq", "seq:4294967295;", "seq:4294967296;", "'4294967296' is no number", "tcp"},
      {"tcp.seq", "tcp.seq:1;", "tcp.seq:a;", "'a' is no number", "tcp"},
      {"ack", "ack:0;", "ack:-1;", "'-1' is no number", "tcp"},
      {"tcp.ack", "tcp.ack:0;", "tcp.ack:a;", "'a' is no number", "tcp"},
      {"window", "window:!100;", "window:65536;", "'65536' is no number", "tcp"},
      {"tcp.window", "tcp.window:1;", "tcp.window:a;", "'a' is no number", "tcp"},
      {"fragoffset", "fragoffset:>0;", "fragoffset:<0;", "'<0' is no number"},
      {"fragbits", "fragbits:+MD;", "fragbits:Q;", "'Q' has an unknown bit"},
      {"flags", "flags:S,CE;", "flags:X;", "'X' has an unknown bit", "tcp"},
      {"tcp.flags", "tcp.flags:!FPU;", "tcp.flags:S,X;", "'X' has an unknown flag", "tcp-pkt"},
      {"ipopts", "ipopts:lsrr;", "ipopts:xx;", "'xx' is no option of IPv4"},
      {"sameip", "sameip;", "sameip:1;", "follows a keyword without a value"},
      // Contents.
      {"content", R"(content:!"a|0A 0b|\"\\\:\;";)", R"(content:"|0|";)", "'|0|' has no pairs of hexadecimal digits"},
      {"uricontent", R"(uricontent:"a";)", "uricontent:a;", "'a' has no quotes"},
      {"nocase", R"(content:"a"; nocase;)", "nocase;", "keyword without a content before it: 'nocase'"},
      {"startswith", R"(content:"a"; startswith;)", R"(content:"a"; startswith; depth:1;)",
       "has startswith and a position"},
      {"endswith", R"(content:"a"; endswith;)", R"(content:"a"; endswith; endswith;)", "modifier is repeated"},
      {"offset", R"(content:"a"; offset:2;)", R"(content:"a"; offset:-1;)", "'-1' is no number from 0 to 65535"},
      {"depth", R"(content:"ab"; depth:2;)", R"(content:"ab"; depth:1;)", "is longer than its depth"},
      {"distance", R"(content:"a"; distance:-3;)", R"(content:"a"; distance:1; offset:1;)",
       "has offset or depth, and distance or within"},
      {"within", R"(content:"ab"; within:2;)", R"(content:"ab"; within:1;)", "is longer than its within"},
      {"fast_pattern", R"(content:"abc"; fast_pattern:1,2;)", R"(content:"abc"; fast_pattern:2,2;)",
       "is shorter than the part that fast_pattern names"},
      {"isdataat", "isdataat:!10,relative;", "isdataat:10,absolute;", "'absolute' is neither"},
      {"bsize", "http.uri; bsize:>10;", "bsize:10;", "keyword without a buffer before it", "http"},
      {"asn1", "asn1:double_overflow, relative_offset -1, oversize_length 500;", "asn1:overflow;",
       "'overflow' is no property"},
      {"pcre", R"(pcre:"/a(?<!b)c/Rsi";)", R"(pcre:"/a(/";)",
       "'a(' is no expression: missing closing parenthesis at byte 2"},
      {"rawbytes", R"(content:"a"; rawbytes;)", "rawbytes;", "keyword without a content before it"},
      {"pkt_data", R"(file.data; content:"a"; pkt_data; content:"b";)", "pkt_data:1;",
       "follows a keyword without a value"},
      // Numbers.
      {"byte_test", "byte_test:4,!&,0x80,-2,relative,little,bitmask 0xF0;", "byte_test:4,~,1,0;", "'~' is no operator"},
      {"byte_jump", "byte_jump:4,0,relative,align,multiplier 2,from_beginning,post_offset -1;", "byte_jump:4;",
       "'4' has fewer than 2 words"},
      {"byte_extract", R"(byte_extract:2,0,size,string,hex; content:"a"; within:size;)", "byte_extract:2,0,9;",
       "'9' is no name of a variable"},
      {"byte_math", "byte_math:bytes 2, offset 0, oper <<, rvalue 3, result r, endian little; byte_test:1,=,r,0;",
       "byte_math:bytes 2, offset 0, oper /, rvalue 0, result r;", "divides by 0"},
      // Sessions.
      {"flow", "flow:established,to_server;", "flow:to_server,from_server;", "'from_server' contradicts or repeats"},
      {"flowbits", "flowbits:isset,a|b;", "flowbits:set,a|b;", "which only isset and isnotset take"},
      {"xbits", "xbits:set,a,track ip_pair,expire 60;", "xbits:set,a,track flow;", "'track flow' is not"},
      {"hostbits", "hostbits:isnotset,a,dst;", "hostbits:set,a,both;", "'both' is neither src nor dst"},
      {"threshold", "threshold:type both, track by_src, count 5, seconds 60;",
       "threshold:type both, track by_src, count 5;", "needs type, track, count and seconds"},
      {"detection_filter", "detection_filter:track by_src, count 3, seconds 60, unique_on src_port;",
       "detection_filter:type limit, track by_src, count 3, seconds 60;", "and no type"},
      {"tag", "tag:host,100,packets,src;", "tag:host,100,packets;", "'packets' is neither src nor dst"},
      {"stream_size", "stream_size:server,<=,100;", "stream_size:server,100;", "is not 'SIDE,OPERATOR,BYTES'", "tcp"},
      // Applications.
      {"urilen", "urilen:5<>10,raw;", "urilen:5,short;", "'5,short' is not 'LENGTH[,norm|raw]'", "http"},
      {"app-layer-protocol", "app-layer-protocol:!tls;", "app-layer-protocol:tcp;",
       "'tcp' is no protocol of an application that is recognized", "tcp"},
      {"ssl_state", "ssl_state:client_hello|server_hello;", "ssl_state:hello;", "'hello' is unknown here", "tls"},
      {"ssl_version", "ssl_version:sslv3,tls1.0;", "ssl_version:2;", "'2' is unknown here", "tcp"},
      {"tls.version", "tls.version:1.2;", "tls.version:1.4;", "'1.4' is unknown here", "tls"},
      {"tls.subject", R"(tls.subject:!"CN=a";)", R"(tls.subject:"";)", "is empty", "tls"},
      {"tls.issuerdn", R"(tls.issuerdn:"CN=a";)", R"(tls.issuerdn:"a" b;)", "'b' follows the quotes", "tls"},
      {"tls.fingerprint", R"(tls.fingerprint:"aa:bb";)", "tls.fingerprint:;", "keyword without its value", "tls"},
      {"ssh.softwareversion", R"(ssh.softwareversion:"PUTTY";)", R"(ssh.softwareversion:"";)", "is empty", "ssh"},
      {"ssh.protoversion", "ssh.protoversion:2_compat;", "ssh.protoversion:;", "keyword without its value", "ssh"},
      {"ftpbounce", "ftpbounce;", "ftpbounce;", "keyword of another protocol", "tls"},
  };
  return kAll;
}

/// Returns the message of the refusal of a rule, or "no error".
std::string refusal(const std::string& options, const std::string& protocol) {
  return message_of([&] { parse_options(options, protocol); });
}

TEST(Keywords, EachTakesARightValueAndRefusesAWrongOne) {
  for (const Case& each : cases()) {
    const std::string right_protocol = each.keyword == "ftpbounce" ? "ftp" : each.protocol;
    EXPECT_EQ(refusal(each.right, right_protocol), "no error") << each.keyword;
    EXPECT_THAT(refusal(each.wrong, each.protocol), HasSubstr(each.message)) << each.keyword;
    EXPECT_THAT(refusal(each.wrong, each.protocol), testing::StartsWith("test.rules:1:")) << each.keyword;
  }
}

TEST(Keywords, AllHaveACase) {
  std::set<std::string> names(keyword_names().begin(), keyword_names().end());
  for (const Case& each : cases()) EXPECT_EQ(names.erase(each.keyword), 1U) << each.keyword;
  // The test of buffers has a case for each name of a buffer.
  for (const BufferInfo& buffer : buffers()) {
    for (const std::string_view name : {buffer.name, buffer.old_name, buffer.modifier}) names.erase(std::string(name));
  }
  EXPECT_THAT(names, testing::IsEmpty());
}

TEST(Keywords, BuffersHaveStickyNamesModifiersAndLettersOfPcre) {
  for (const BufferInfo& info : buffers()) {
    for (const std::string_view name : {info.name, info.old_name}) {
      if (name.empty()) continue;
      const Rule rule = parse_options(std::string(name) + R"(; content:"a"; isdataat:1;)", "tcp");
      ASSERT_EQ(rule.buffers.size(), 1U) << name;
      EXPECT_EQ(rule.buffers[0].buffer, info.buffer) << name;
      EXPECT_EQ(rule.buffers[0].tests.size(), 2U) << name;
      EXPECT_EQ(rule.application, info.application) << name;
    }
    if (!info.modifier.empty()) {
      const Rule rule = parse_options(R"(content:"a"; )" + std::string(info.modifier) + ";", "tcp");
      EXPECT_EQ(rule.buffers.at(0).buffer, info.buffer) << info.modifier;
    }
    if (info.pcre != 0) {
      const Rule rule = parse_options(std::string(R"(pcre:"/a/)") + info.pcre + "\";", "tcp");
      EXPECT_EQ(rule.buffers.at(0).buffer, info.buffer) << info.pcre;
    }
    if (info.application == Application::none) continue;
    const std::string other = info.application == Application::ssh ? "tls" : "ssh";
    const std::string name(info.name);
    EXPECT_THAT(refusal(name + R"(; content:"a";)", other), HasSubstr("keyword of another protocol: '" + name + "'"));
  }
}

TEST(Keywords, UnknownWordsAreNamedWithAHint) {
  EXPECT_EQ(refusal(R"(contnt:"a";)", "ip"), "test.rules:1:30: unknown keyword: 'contnt': did you mean 'content'?");
  EXPECT_EQ(refusal("qqqqqqqqqqqqqqqq;", "ip"), "test.rules:1:30: unknown keyword: 'qqqqqqqqqqqqqqqq'");
  EXPECT_EQ(refusal("lua:a.lua;", "ip"), "test.rules:1:30: keyword is not supported yet: 'lua'");
}

TEST(Keywords, FieldsNeedTheirProtocol) {
  EXPECT_THAT(refusal("flags:S;", "udp"), HasSubstr("keyword of another protocol: 'flags' needs tcp"));
  EXPECT_THAT(refusal("itype:8;", "tcp"), HasSubstr("keyword of another protocol: 'itype' needs icmp"));
  EXPECT_THAT(refusal(R"(content:"a"; http_uri;)", "udp"), HasSubstr("'http_uri' needs http"));
  EXPECT_EQ(refusal(R"(dns.query; content:"a";)", "udp"), "no error");
}

}  // namespace
}  // namespace penumbra::ids
