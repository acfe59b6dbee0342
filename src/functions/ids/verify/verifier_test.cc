// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/verify/verifier.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "functions/ids/rules/testing.h"
#include "functions/ids/verify/naive_oracle.h"

namespace penumbra::ids {
namespace {

using Buffers = std::map<Buffer, std::string>;

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

bool verify(const Rule& rule, const Buffers& buffers, Verifier& verifier) {
  BufferTable table;
  for (const auto& [buffer, text] : buffers) table.set(buffer, bytes_of(text));
  verifier.begin();
  return verifier.matches(PreparedRule(rule), table);
}

bool hits(const std::string& options, const std::string& text) {
  Verifier verifier;
  const Rule rule = parse_options(options, "tcp-pkt");
  const bool hit = verify(rule, {{Buffer::payload, text}}, verifier);
  EXPECT_EQ(verifier.counters().steps_exceeded, 0U) << options;
  return hit;
}

struct Case {
  std::string options, text;
  bool hit;
};

TEST(Verifier, FollowsTheManual) {
  const std::string binary("\x01\x02\x03\x04\x00\x05", 6);
  const std::vector<Case> cases{
      {R"(content:"b";)", "abc", true},
      {R"(content:!"b";)", "abc", false},
      {R"(content:!"x";)", "", true},
      {R"(content:"b"; offset:1; depth:1;)", "abc", true},
      {R"(content:"c"; offset:1; depth:1;)", "abc", false},
      {R"(content:"bc"; offset:1; depth:2;)", "abc", true},
      {R"(content:"abc"; startswith; endswith;)", "abc", true},
      {R"(content:"abc"; startswith; endswith;)", "abcabc", false},
      {R"(content:"bc"; endswith;)", "bcabc", true},
      {R"(content:!"bc"; endswith;)", "bca", true},
      {R"(content:"ABC"; nocase;)", "xaBc", true},
      {R"(content:"[|c4|]"; nocase;)", "{\xE4}", false},  // only letters of ASCII are folded
      {R"(content:"a"; content:"b"; distance:0; within:1;)", "axab", true},
      {R"(content:"a"; content:"b"; distance:1;)", "abxb", true},
      {R"(content:"a"; content:"b"; distance:1;)", "ab", false},
      {R"(content:"b"; content:"a"; distance:-2; within:1;)", "ab", true},
      {R"(content:"a"; content:!"b"; distance:0; within:3;)", "abxxaxxx", true},  // the next "a" must be tried
      {R"(content:"a"; content:!"b"; distance:0; within:3;)", "abxxaxxxb", true},
      {R"(content:"a"; content:!"b"; distance:0; within:3;)", "abxxaxb", false},
      {R"(content:"a"; content:!"b"; distance:9;)", "ab", true},
      {R"(content:"a"; content:"b"; within:2; content:"c"; within:1;)", "abxabc", true},
      {R"(pcre:"/a.c/"; content:"d"; distance:0; within:1;)", "abcxabcd", true},
      {R"(content:"a"; pcre:"/^b/R";)", "aab", true},
      {R"(content:"a"; pcre:"/^b/R"; content:"c"; within:1;)", "abxabc", true},
      {R"(content:"a"; pcre:!"/b/R";)", "aab", false},
      {R"(content:"a"; pcre:!"/b/R"; content:"c"; distance:0;)", "abac", true},
      {R"(pcre:"/A/i";)", "a", true},
      {R"(isdataat:2;)", "abc", true},
      {R"(isdataat:3;)", "abc", false},
      {R"(content:"c"; isdataat:!1,relative;)", "abc", true},
      {R"(content:"b"; isdataat:!1,relative;)", "abc", false},
      {R"(content:!"b"; isdataat:!1,relative;)", "abc", true},  // not at the end
      {R"(content:!"c"; isdataat:!1,relative;)", "abc", false},
      {R"(content:"a"; isdataat:2,relative;)", "abc", true},
      {R"(content:"a"; isdataat:3,relative;)", "abc", false},
      {"byte_test:2,=,0x0102,0;", binary, true},
      {"byte_test:2,=,0x0201,0,little;", binary, true},
      {"byte_test:1,&,2,2;", binary, true},
      {"byte_test:1,!&,4,2;", binary, true},
      {"byte_test:1,^,3,2;", binary, false},
      {"byte_test:2,>,4,4;", binary, true},
      {"byte_test:2,!=,4,5;", binary, false},  // beyond the end, also negated
      {"byte_test:1,=,1,-1;", binary, false},
      {"byte_test:2,=,3,0,bitmask 0x0180;", binary, false},
      {"byte_test:2,=,2,0,bitmask 0x0180;", binary, true},
      {"byte_test:4,=,123,1,string,dec;", "x123y", true},
      {"byte_test:4,=,0x1f,0,string,hex;", "0x1f", true},
      {"byte_test:3,=,9,0,string,oct;", "011", true},
      {"byte_test:3,=,0,0,string,dec;", "abc", false},
      {R"(byte_jump:1,0; content:"|05|"; within:1;)", binary, false},
      {R"(byte_jump:1,0,relative,multiplier 4; content:"|05|"; within:1;)", binary, true},
      {R"(byte_jump:1,0,align; content:"|05|"; within:1;)", binary, true},
      {R"(byte_jump:1,1,from_beginning; content:"|03|"; within:1;)", binary, true},
      {R"(byte_jump:0,0,from_end,post_offset -2; content:"|00|"; within:1;)", binary, true},
      {"byte_jump:1,5;", binary, false},  // the target lies beyond the last byte
      {R"(byte_jump:1,0,post_offset -3; content:"|01|"; within:1;)", binary, true},
      {R"(byte_extract:1,1,n; content:"|03|"; offset:n; depth:1;)", binary, true},
      {R"(byte_extract:1,0,n,multiplier 3,align 4; content:"|00|"; offset:n; depth:1;)", binary, true},
      {R"(byte_math:bytes 1, offset 1, oper *, rvalue 2, result r; content:"|00|"; offset:r; depth:1;)", binary, true},
      {"byte_extract:1,4,zero; byte_math:bytes 1, offset 0, oper /, rvalue zero, result r;", binary, false},
      {R"(content:"a"; byte_extract:1,0,n,relative,string,dec; content:"z"; distance:n; within:1;)", "a1bza2bbz", true},
      {R"(content:"a"; byte_extract:1,0,n,relative,string,dec; content:"z"; distance:n; within:1;)", "a1bba2bbb",
       false},
      {"asn1:double_overflow;", "abc", false},
      {"byte_test:1,=,97,0,dce;", "abc", false},
  };
  for (const Case& each : cases)
    EXPECT_EQ(hits(each.options, each.text), each.hit) << each.options << " in " << each.text;
}

TEST(Verifier, ChecksEachBuffer) {
  Verifier verifier;
  const Rule rule = parse_options(R"(http.uri; content:"a"; bsize:1; http.method; content:!"b";)", "tcp");
  EXPECT_TRUE(verify(rule, {{Buffer::http_uri, "a"}, {Buffer::http_method, "x"}}, verifier));
  EXPECT_FALSE(verify(rule, {{Buffer::http_uri, "aa"}, {Buffer::http_method, "x"}}, verifier));
  EXPECT_FALSE(verify(rule, {{Buffer::http_uri, "a"}, {Buffer::http_method, "b"}}, verifier));
  EXPECT_FALSE(verify(rule, {{Buffer::http_uri, "a"}}, verifier));  // a negated content needs its buffer
}

TEST(Verifier, CarriesVariablesFromBufferToBuffer) {
  Verifier verifier;
  const Rule rule = parse_options(R"(ipv4.hdr; byte_extract:1,0,n; tcp.hdr; byte_test:1,=,n,1;)", "tcp");
  EXPECT_TRUE(verify(rule, {{Buffer::ipv4_header, "a"}, {Buffer::tcp_header, "xa"}}, verifier));
  EXPECT_FALSE(verify(rule, {{Buffer::ipv4_header, "a"}, {Buffer::tcp_header, "ax"}}, verifier));
}

TEST(Verifier, CountsRulesThatExceedTheirLimits) {
  std::string options;
  for (int i = 0; i < 8; ++i) options += R"(content:"a"; distance:0; )";
  const Rule deep = parse_options(options + R"(content:"b"; distance:0;)", "tcp-pkt");
  const Rule slow = parse_options(R"(pcre:"/(a+)+b(?<!c)$/";)", "tcp-pkt");
  const std::string text(60, 'a');
  Verifier verifier;
  EXPECT_FALSE(verify(deep, {{Buffer::payload, text}}, verifier));
  EXPECT_EQ(verifier.counters().steps_exceeded, 1U);
  EXPECT_EQ(verifier.counters().pcre_exceeded, 0U);
  EXPECT_FALSE(verify(slow, {{Buffer::payload, text + "bb"}}, verifier));
  EXPECT_EQ(verifier.counters().pcre_exceeded, 1U);
  EXPECT_FALSE(verify(deep, {{Buffer::payload, text.substr(0, 5)}}, verifier));  // few steps are within the limit
  EXPECT_EQ(verifier.counters().steps_exceeded, 1U);
}

/// Makes rules of short contents, expressions and numbers over a small alphabet, so that many tests hold.
class RandomRules {
 public:
  explicit RandomRules(std::uint32_t seed) : random_(seed) {}

  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }
  bool chance(int percent) { return number(1, 100) <= percent; }
  std::string text(int least, int most) {
    std::string made;
    for (int i = number(least, most); i > 0; --i) made += "abcAB12"[number(0, 6)];
    return made;
  }

  std::string options() {
    std::string made;
    has_variable_ = false;
    for (int i = number(1, 5); i > 0; --i) made += option();
    return made;
  }

 private:
  std::string value(int least, int most) {
    return has_variable_ && chance(30) ? "v" : std::to_string(number(least, most));
  }
  std::string relative() { return chance(60) ? ",relative" : ""; }

  std::string content() {
    const std::string bytes = text(1, 2);
    const int size = static_cast<int>(bytes.size());
    std::string made = "content:" + std::string(chance(25) ? "!" : "") + '"' + bytes + "\"; ";
    if (chance(25)) made += "nocase; ";
    switch (number(0, 5)) {
      case 0:
        made += "offset:" + value(0, 5) + "; ";
        if (chance(50)) made += "depth:" + std::to_string(number(size, 6)) + "; ";
        break;
      case 1:
        made += "startswith; ";
        break;
      case 2:
      case 3:
        made += "distance:" + value(-3, 3) + "; ";
        if (chance(50)) made += "within:" + std::to_string(number(size, 5)) + "; ";
        break;
      default:
        break;
    }
    if (chance(10)) made += "endswith; ";
    return made;
  }

  std::string option() {
    const auto at = [this](int least, int most) { return std::to_string(number(least, most)); };
    const std::string field = chance(50) ? ",string,dec" : chance(50) ? ",little" : "";
    switch (number(0, 11)) {
      case 0:
        return chance(70) ? R"(pcre:"/[ab].c/)" + std::string(chance(50) ? "R" : "") + "\"; " : R"(pcre:!"/^b/R"; )";
      case 1:
        return R"(pcre:"/^b/)" + std::string(chance(80) ? "R" : "") + "\"; ";
      case 2: {
        constexpr std::array<const char*, 8> kOperators{"=", "!=", "<", ">", "<=", ">=", "&", "^"};
        return "byte_test:" + at(1, 2) + "," + kOperators[static_cast<std::size_t>(number(0, 7))] + "," +
               value(0, 100) + "," + value(-1, 4) + relative() + field + "; ";
      }
      case 3: {
        constexpr std::array<const char*, 3> kFrom{"", ",from_beginning", ",from_end"};
        return "byte_jump:" + at(0, 1) + "," + at(-1, 4) + relative() + kFrom[static_cast<std::size_t>(number(0, 2))] +
               (chance(70) ? ",string,dec" : "") + (chance(30) ? ",align" : "") + ",post_offset " + at(-6, 2) + "; ";
      }
      case 4: {
        const std::string made = "byte_extract:1," + value(0, 4) + ",v" + relative() + ",string,dec" +
                                 (chance(20) ? ",multiplier 2" : "") + (chance(20) ? ",align 2" : "") + "; ";
        has_variable_ = true;
        return made;
      }
      case 5: {
        constexpr std::array<const char*, 6> kOperators{"+", "-", "*", "/", "<<", ">>"};
        const std::string made = "byte_math:bytes 1, offset " + value(0, 3) + ", oper " +
                                 kOperators[static_cast<std::size_t>(number(0, 5))] + ", rvalue " + value(1, 4) +
                                 ", result v" + (chance(50) ? ", relative" : "") + ", string dec; ";
        has_variable_ = true;
        return made;
      }
      case 6:
        return "isdataat:" + std::string(chance(40) ? "!" : "") + value(0, 8) + relative() + "; ";
      default:
        return content();
    }
  }

  std::mt19937 random_;
  bool has_variable_ = false;
};

TEST(Verifier, AgreesWithASlowEvaluatorOnRandomRules) {
  RandomRules random(7);
  Verifier verifier({.steps = 1000000});
  int hit = 0, missed = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::string options = random.options();
    const Rule rule = parse_options(options, "tcp-pkt");
    for (int i = 0; i < 6; ++i) {
      const std::string text = random.text(0, 14);
      const Buffers buffers{{Buffer::payload, text}};
      const bool expected = NaiveOracle::matches(rule, buffers);
      ASSERT_EQ(verify(rule, buffers, verifier), expected) << options << " in " << text;
      ++(expected ? hit : missed);
    }
  }
  EXPECT_GT(hit, 3000);
  EXPECT_GT(missed, 3000);
  EXPECT_EQ(verifier.counters().steps_exceeded + verifier.counters().pcre_exceeded, 0U);
}

}  // namespace
}  // namespace penumbra::ids
