// SPDX-License-Identifier: Apache-2.0
#include "control/rules/header_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/shared_data.h"
#include "control/rules/classbench.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/rule_file.h"
#include "control/rules/rule_generator.h"
#include "testing/message_of.h"

namespace penumbra::control::rules {
namespace {

using Header = HeaderGenerator::Header;

std::vector<RuleMatch> matches_of(const std::vector<Rule>& rules) {
  std::vector<RuleMatch> all;
  all.reserve(rules.size());
  for (const Rule& rule : rules) all.push_back(rule.match);
  return all;
}

std::vector<Header> headers_of(RuleFields fields, const std::vector<Rule>& rules, const HeaderGeneratorOptions& options,
                               std::size_t count) {
  const auto inside = matches_of(rules);
  HeaderGenerator generator(fields, rules, inside, options);
  std::vector<Header> headers(count);
  std::ranges::generate(headers, [&] { return generator.next(); });
  return headers;
}

bool any_matches(RuleFields fields, const std::vector<Rule>& rules, const RuleWords& key) {
  return std::ranges::any_of(rules, [&](const Rule& rule) { return matches(rule.match, fields, key); });
}

/// Hits match the rule from which they are drawn, misses match no rule, and all headers survive writing and reading
/// back.
void expect_right(RuleFields fields, const std::vector<Rule>& rules, const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    if (header.drawn_from == 0) {
      ASSERT_FALSE(any_matches(fields, rules, header.key));
    } else {
      ASSERT_TRUE(matches(rules.at(header.drawn_from - 1).match, fields, header.key));
    }
    const std::string text = header_line(fields, header.key, header.drawn_from);
    const std::string file = "headers";
    Line line(&file, 1, text);
    ASSERT_EQ(parse_header(line, fields), header.key) << text;
  }
}

double hit_share(const std::vector<Header>& headers) {
  const auto hits = std::ranges::count_if(headers, [](const Header& header) { return header.drawn_from != 0; });
  return static_cast<double>(hits) / static_cast<double>(headers.size());
}

TEST(HeaderGenerator, GivesTheShareOfHitsOfGeneratedRules) {
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow}) {
    const auto rules = generate_rules({.fields = fields, .rules = 300, .classes = 40, .full_classes = 10}).rules;
    for (const double share : {0.0, 0.25, 0.9, 1.0}) {
      for (const double locality : {0.0, 0.5}) {
        const auto headers = headers_of(fields, rules, {.hit_share = share, .locality = locality, .seed = 3}, 20'000);
        expect_right(fields, rules, headers);
        // Copies of one header may end the list.
        EXPECT_NEAR(hit_share(headers), share, share == 0 || share == 1 ? 0 : 0.06);
      }
    }
  }
}

TEST(HeaderGenerator, DrawsFromEveryRule) {
  const auto rules = generate_rules({.rules = 500}).rules;
  std::vector<int> drawn(rules.size());
  for (const Header& header : headers_of(RuleFields::openflow, rules, {}, 20'000)) ++drawn.at(header.drawn_from - 1);
  EXPECT_GT(std::ranges::min(drawn), 0);
  EXPECT_LT(std::ranges::max(drawn), 120);
}

TEST(HeaderGenerator, LocalityIsHowOftenAHeaderComesAgain) {
  const auto rules = generate_rules({.rules = 500}).rules;
  const auto share_of_copies = [&](double locality) {
    const auto headers = headers_of(RuleFields::openflow, rules, {.locality = locality}, 50'000);
    std::size_t copies = 0, in_row = 0, longest = 0;
    for (std::size_t i = 1; i < headers.size(); ++i) {
      const bool again = headers[i].key == headers[i - 1].key;
      in_row = again ? in_row + 1 : 0;
      longest = std::max(longest, in_row);
      copies += again ? 1 : 0;
    }
    EXPECT_LT(longest, 2 * HeaderGenerator::kMostCopies);  // A header may be drawn twice in succession by chance.
    return static_cast<double>(copies) / static_cast<double>(headers.size());
  };
  EXPECT_LT(share_of_copies(0), 0.001);
  // The mean of a Pareto distribution that is cut off at 1000 is about 1 + scale * ln(1000 / scale).
  EXPECT_NEAR(share_of_copies(0.1), 1 - 1 / (1 + 0.1 * 9.2), 0.1);
  EXPECT_NEAR(share_of_copies(1), 1 - 1 / (1 + 6.9), 0.1);
}

TEST(HeaderGenerator, TheSameSeedGivesTheSameHeadersEverywhere) {
  const auto rules = generate_rules({.rules = 500}).rules;
  const auto text = [&](std::uint64_t seed) {
    std::string all;
    const HeaderGeneratorOptions options{.hit_share = 0.8, .locality = 0.3, .seed = seed};
    for (const Header& header : headers_of(RuleFields::openflow, rules, options, 1000)) {
      all += header_line(RuleFields::openflow, header.key, header.drawn_from);
    }
    return all;
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a.
  for (const char letter : text(1)) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  // The digest comes from another machine. A difference means that headers are no longer comparable between versions.
  EXPECT_EQ(hash, 1255196756189923251U);
}

TEST(HeaderGenerator, WorksOnRealRulesWithRanges) {
  const auto folder = shared_data() / "acl";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not here";
  for (const char* name : {"acl1_1k", "fw1_1k", "ipc1_1k"}) {
    const RuleList list = read_rules(folder / name);
    const auto all_rules = headers_of(list.fields, list.rules, {.hit_share = 1}, 5000);
    expect_right(list.fields, list.rules, all_rules);
    EXPECT_EQ(hit_share(all_rules), 1);
  }
}

TEST(HeaderGenerator, TakesFlowsOfEveryKind) {
  const RuleList list = parse_rules(
      "actions=drop\narp,arp_op=1 actions=drop\nrarp actions=drop\nipv6 actions=drop\nicmp,icmp_type=8 actions=drop\n"
      "vlan_tci=0x1000/0x1000 actions=drop\ndl_vlan=0xffff actions=drop\nvlan_tci=0xb005/0xb00f actions=drop\n"
      "dl_vlan_pcp=3 actions=drop\nip,nw_proto=47 actions=drop\nip,nw_dst=10.0.2.0/255.0.255.0 actions=drop\n"
      "sctp,tp_src=0x50/0xfff0 actions=drop\ndl_type=0x88cc actions=drop\nip,nw_tos=4 actions=drop\n",
      "flows");
  expect_right(list.fields, list.rules, headers_of(list.fields, list.rules, {}, 20'000));
  // These rules leave headers without a match.
  const std::vector<Rule> last(list.rules.begin() + 7, list.rules.end());
  expect_right(list.fields, last, headers_of(list.fields, last, {.hit_share = 0.5}, 5000));
}

TEST(HeaderGenerator, SaysWhatCannotBe) {
  const auto rules = generate_rules({.rules = 200}).rules;
  const auto refused = [](const std::vector<Rule>& of, const HeaderGeneratorOptions& options) -> std::string {
    return message_of<std::invalid_argument>([&] { headers_of(RuleFields::openflow, of, options, 10); });
  };
  EXPECT_EQ(refused(rules, {.hit_share = 1.5}), "the share of hits must be from 0 to 1");
  EXPECT_EQ(refused(rules, {.locality = -1}), "the locality must be from 0 to 1");
  EXPECT_EQ(refused({}, {}), "there are no rules to draw headers from");
  EXPECT_EQ(refused({}, {.hit_share = 0}), "no error");
  EXPECT_EQ(refused({rules[0], Rule{}}, {.hit_share = 0.5}),
            "rule number 2 matches every header, so none can miss; ask for hits only");
  const auto with_and_without_tag =
      parse_rules("dl_vlan=0xffff actions=drop\nvlan_tci=0x1000/0x1000 actions=drop", "all");
  EXPECT_EQ(refused(with_and_without_tag.rules, {.hit_share = 0.5}),
            "no header is found that no rule matches; ask for hits only");
}

}  // namespace
}  // namespace penumbra::control::rules
