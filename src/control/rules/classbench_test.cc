// SPDX-License-Identifier: Apache-2.0
#include "control/rules/classbench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "base/random.h"
#include "base/shared_data.h"
#include "base/text_file.h"
#include "control/bad_case.h"
#include "control/rules/places.h"

namespace penumbra::control::rules {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

RuleList parse_acl(std::string_view text) {
  return parse_classbench(text, "acl");
}

std::string acl_text(RuleFields fields, const std::vector<Rule>& rules) {
  std::ostringstream text;
  write_classbench(text, fields, rules);
  return text.str();
}

TEST(ClassBench, ReadsARuleOfIpv4) {
  const RuleList list =
      parse_acl("# made by hand\n\n@192.0.2.0/24\t0.0.0.0/0\t0 : 65535\t80 : 81\t0x06/0xFF\t0x1000/0x1000\t\n");
  ASSERT_EQ(list.rules.size(), 1U);
  EXPECT_EQ(list.fields, RuleFields::ipv4);
  EXPECT_THAT(list.lines, ::testing::ElementsAre(3));
  const RuleMatch& match = list.rules[0].match;
  EXPECT_EQ(match.value, (RuleWords{std::uint64_t{0xC0000200} << 32, 0x0000'0050'06'000000}));
  EXPECT_EQ(match.mask, (RuleWords{std::uint64_t{0xFFFFFF00} << 32, 0x0000'FFFE'FF'000000}));
  EXPECT_FALSE(match.has_ranges());
}

TEST(ClassBench, ReadsARuleOfIpv6) {
  const RuleList list =
      parse_acl("@2001:db8::/33 ::1/128 1 : 2 0 : 0 0x00/0x00\r\n@::/0 ::/0 0 : 65535 0 : 65535 0x1/0x3");
  ASSERT_EQ(list.rules.size(), 2U);
  EXPECT_EQ(list.fields, RuleFields::ipv6);
  EXPECT_THAT(list.lines, ::testing::ElementsAre(1, 2));
  EXPECT_EQ(list.rules[0].match.value, (RuleWords{0x20010DB8'00000000, 0, 0, 1, 0}));
  EXPECT_EQ(list.rules[0].match.mask, (RuleWords{kAll << 31, 0, kAll, kAll, 0x0000'FFFF'00'000000}));
  EXPECT_EQ(list.rules[0].match.source_ports, (PortRange{1, 2}));
  EXPECT_EQ(list.rules[1].match.mask, (RuleWords{0, 0, 0, 0, 0x03'000000}));
}

TEST(ClassBench, ATextWithoutRulesIsAnEmptyList) {
  for (const char* text : {"", "\n", "# only this", "\r\n \t\r\n"}) EXPECT_TRUE(parse_acl(text).rules.empty());
}

class ClassBenchErrors : public ::testing::TestWithParam<BadCase> {};

TEST_P(ClassBenchErrors, SayWhereAndWhat) {
  expect_refused(GetParam(), "acl", [] { parse_acl(GetParam().text); });
}

constexpr const char* kGood = "@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 65535 0x06/0xFF\n";

INSTANTIATE_TEST_SUITE_P(
    Filters, ClassBenchErrors,
    ::testing::Values(
        BadCase{"10.0.0.0/8 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF", 1, 1,
                "expected '@' and a source prefix, found '10.0.0.0/8'"},
        BadCase{"@10.0.0.1/8 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF", 1, 2,
                "'10.0.0.1/8' has bits set past its length; the prefix would be 10.0.0.0/8"},
        BadCase{"@10.0.0.0/33 0.0.0.0/0", 1, 2, "expected a prefix (A.B.C.D/LENGTH, of at most 32 bits)"},
        BadCase{"@10.0.0.0 0.0.0.0/0", 1, 2, "expected a prefix (A.B.C.D/LENGTH"},
        BadCase{"@default 0.0.0.0/0", 1, 2, "expected a prefix (A.B.C.D/LENGTH"},
        BadCase{"@", 1, 2, "expected a prefix (A.B.C.D/LENGTH"},
        BadCase{std::string(kGood) + "@::/0 ::/0 0 : 1 0 : 1 0x06/0xFF", 2, 2, "IPv6 has a file of its own"},
        BadCase{"@::/0 10.0.0.0/8 0 : 1", 1, 7, "IPv4 has a file of its own"},
        BadCase{"@::/129 ::/0", 1, 2, "of at most 128 bits"},
        BadCase{"@2001:db8::1/64 ::/0", 1, 2, "the prefix would be 2001:db8::/64"},
        BadCase{"@10.0.0.0/8", 1, 12, "expected a destination prefix, found the end of the line"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 2 : 1", 1, 28, "a range from 2 to 1 has no port in it"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 65536", 1, 28, "expected a port from 0 to 65535, found '65536'"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0:1", 1, 24, "expected a port from 0 to 65535, found '0:1'"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 - 1", 1, 26, "expected ':' between blanks, found '-'"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 :", 1, 27, "expected the last port, found the end of the line"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1", 1, 29, "expected the range of destination ports (LOW : HIGH)"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1", 1, 35, "expected a protocol and its mask"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1 0x06", 1, 36, "such as 0x06/0xFF, found '0x06'"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1 0x06/0x1FF", 1, 36, "such as 0x06/0xFF, found '0x06/0x1FF'"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1 0x06/0x00", 1, 36, "has bits set that its mask has not"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1 0x06/0xFF 5", 1, 46, "expected flags and their mask"},
        BadCase{"@10.0.0.0/8 10.0.0.0/8 0 : 1 0 : 1 0x06/0xFF 0x0000/0x0200 7", 1, 60,
                "expected the end of the line, found '7'"},
        BadCase{std::string("@10.0.0.0/8 \0", 13), 1, 13, "found a NUL byte; expected a text file"}));

class TraceErrors : public ::testing::TestWithParam<std::pair<RuleFields, BadCase>> {};

TEST_P(TraceErrors, SayWhereAndWhat) {
  const auto& [fields, bad] = GetParam();
  expect_refused(bad, "trace", [&, of = fields, text = bad.text] { parse_trace(text, "trace", of); });
}

INSTANTIATE_TEST_SUITE_P(
    Traces, TraceErrors,
    ::testing::Values(
        std::pair{RuleFields::ipv4, BadCase{"1 2 3 4", 1, 8, "expected the protocol, found the end of the line"}},
        std::pair{RuleFields::ipv4,
                  BadCase{"1 4294967296 3 4 5", 1, 3,
                          "expected the destination address, as a decimal number, found '4294967296'"}},
        std::pair{RuleFields::ipv4, BadCase{"1 2 65536 4 5", 1, 5, "expected a port from 0 to 65535"}},
        std::pair{RuleFields::ipv4, BadCase{"1 2 3 4 5\n1 2 3 -4 5", 2, 7, "expected a port from 0 to 65535"}},
        std::pair{RuleFields::ipv4, BadCase{"1 2 3 4 256", 1, 9, "expected a protocol from 0 to 255, found '256'"}},
        std::pair{RuleFields::ipv6, BadCase{"1 2 3 4 5", 1, 1, "expected the source address (X:X::X), found '1'"}}));

TEST(ClassBench, AMillionRulesAreTheMost) {
  std::string text;
  for (std::uint32_t i = 0; i < kMostRules; ++i) text += kGood;
  EXPECT_EQ(parse_acl(text).rules.size(), kMostRules);
  expect_refused({text + kGood, static_cast<int>(kMostRules) + 1, 1, "there are over 1000000 rules"}, "acl",
                 [&] { parse_acl(text + kGood); });
}

Rule random_rule(Random& random, RuleFields fields) {
  RuleMatch match;
  const std::size_t address_words = words_of(fields) - 1;
  for (std::size_t word = 0; word < address_words; ++word) match.value[word] = random.next();
  if (fields == RuleFields::ipv4) {
    match.mask[0] =
        (0xFFFFFFFF00000000 >> random.below(33)) << 32 | (0xFFFFFFFF00000000 >> random.below(33) & 0xFFFFFFFF);
  } else {
    for (const std::size_t word : {0U, 2U}) {
      const unsigned length = random.below(129);
      match.mask[word] = length == 0 ? 0 : length >= 64 ? kAll : kAll << (64 - length);
      match.mask[word + 1] = length <= 64 ? 0 : kAll << (128 - length);
    }
  }
  for (PortRange* const range : {&match.source_ports, &match.destination_ports}) {
    range->first = static_cast<std::uint16_t>(random.next());
    range->last = static_cast<std::uint16_t>(range->first + random.below(65536U - range->first));
    if (random.below(2) == 0) *range = {};
  }
  protocol_place(fields).set(match.value, random.next());
  protocol_place(fields).set(match.mask, random.next());
  return {.match = normalised(match, fields), .priority = 0};
}

TEST(ClassBench, WhatIsWrittenIsReadBackAsTheSame) {
  Random random(1);
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6}) {
    std::vector<Rule> rules;
    rules.resize(5000);
    for (Rule& rule : rules) rule = random_rule(random, fields);
    const RuleList back = parse_acl(acl_text(fields, rules));
    EXPECT_EQ(back.fields, fields);
    EXPECT_EQ(back.rules, rules);
  }
}

TEST(ClassBench, RefusesToWriteWhatItCannotSay) {
  Rule rule;
  EXPECT_THROW(acl_text(RuleFields::openflow, {rule}), std::invalid_argument);
  EXPECT_THROW(acl_text(RuleFields::ipv4, {rule, {.match = {}, .priority = 1}}), std::invalid_argument);
  EXPECT_NO_THROW(acl_text(RuleFields::ipv4, {{.match = {}, .priority = 1}, rule}));
  rule.match.mask[0] = 1;
  EXPECT_THROW(acl_text(RuleFields::ipv4, {rule}), std::invalid_argument);
  EXPECT_THROW(acl_text(RuleFields::ipv6, {rule}), std::invalid_argument);
  rule.match.mask = {0, kAll};
  EXPECT_THROW(acl_text(RuleFields::ipv6, {rule}), std::invalid_argument);
  rule.match.mask = {0, std::uint64_t{1} << kSourcePortShift};
  EXPECT_THROW(acl_text(RuleFields::ipv4, {rule}), std::invalid_argument);
  rule.match = {};
  rule.match.mask[1] = std::uint64_t{0xFFFF} << kSourcePortShift;
  rule.match.source_ports = {1, 2};
  EXPECT_THROW(acl_text(RuleFields::ipv4, {rule}), std::invalid_argument);
}

TEST(ClassBench, HeadersAreReadBackAsTheSame) {
  Random random(2);
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6}) {
    std::vector<RuleWords> keys;
    std::string text;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      RuleWords key{};
      for (std::size_t word = 0; word < words_of(fields); ++word) key[word] = random.next();
      key[words_of(fields) - 1] &= 0xFFFF'FFFF'FF'000000;
      keys.push_back(key);
      text += trace_line(fields, key, i);
    }
    EXPECT_EQ(parse_trace(text, "trace", fields), keys);
  }
  EXPECT_EQ(parse_trace("3232235777 1 2 3 6 0 17\n", "trace", RuleFields::ipv4),
            std::vector({RuleWords{0xC0A80101'00000001, 0x0002'0003'06'000000}}));
}

/// Returns the text without the flags and the words after them.
std::string without_flags(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += line.substr(0, line.rfind("0x", line.rfind('/'))) + "\n";
  return result;
}

TEST(ClassBench, RealFiltersAreWrittenAsTheyStand) {
  const auto folder = shared_data() / "acl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with("_1k") && !name.ends_with("_10k")) continue;
    ++files;
    const std::string text = read_text_file(entry.path());
    const RuleList list = read_classbench(entry.path());
    EXPECT_EQ(list.lines.back(), static_cast<std::uint32_t>(std::ranges::count(text, '\n'))) << name;
    EXPECT_EQ(list.rules.size(), list.lines.back()) << name;
    const std::string again = acl_text(list.fields, list.rules);
    EXPECT_EQ(without_flags(again), without_flags(text)) << name;
    EXPECT_EQ(parse_acl(again).rules, list.rules) << name;
  }
  EXPECT_EQ(files, 13U);
}

TEST(ClassBench, RealHeadersMatchTheRulesTheyWereDrawnFrom) {
  const auto folder = shared_data() / "acl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const std::string name : {"cs_acl_1k", "cs_fw_1k", "cs_ipc_1k"}) {
    const RuleList list = read_classbench(folder / name);
    const std::string text = read_text_file(folder / (name + "_trace"));
    const auto keys = parse_trace(text, name, list.fields);
    std::istringstream lines(text);
    std::size_t i = 0;
    for (std::string line; std::getline(lines, line); ++i) {
      const auto drawn_from = std::stoul(line.substr(line.rfind('\t') + 1));
      ASSERT_TRUE(matches(list.rules.at(drawn_from).match, list.fields, keys.at(i))) << name << ": " << line;
    }
    EXPECT_EQ(keys.size(), i);
  }
}

}  // namespace
}  // namespace penumbra::control::rules
