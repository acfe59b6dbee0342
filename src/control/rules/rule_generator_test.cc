// SPDX-License-Identifier: Apache-2.0
#include "control/rules/rule_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "control/rules/classbench.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/header_generator.h"
#include "control/rules/openflow10.h"
#include "control/rules/rule_file.h"
#include "testing/message_of.h"

namespace penumbra::control::rules {
namespace {

constexpr std::array<RuleFields, 3> kAllFields{RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow};

std::string rules_text(RuleFields fields, const std::vector<Rule>& rules) {
  std::ostringstream text;
  if (fields != RuleFields::openflow) {
    write_classbench(text, fields, rules);
  } else {
    FlowList flows;
    for (const Rule& rule : rules) {
      flows.flows.push_back({.match = from_openflow10(rule.match), .priority = rule.priority});
    }
    flows.action_lists.emplace_back();
    write_flows(text, flows);
  }
  return text.str();
}

/// Returns the 64-bit FNV-1a hash.
std::uint64_t text_digest(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
  return hash;
}

TEST(RuleGenerator, TheSameOptionsGiveTheSameRulesEverywhere) {
  std::map<RuleFields, std::uint64_t> digests;
  for (const RuleFields fields : kAllFields) {
    const std::string text = rules_text(fields, generate_rules({.fields = fields}).rules);
    EXPECT_EQ(text, rules_text(fields, generate_rules({.fields = fields}).rules));
    EXPECT_NE(text, rules_text(fields, generate_rules({.fields = fields, .seed = 2}).rules));
    digests[fields] = text_digest(text);
  }
  // The digests come from another machine. A difference means that rules are no longer comparable between versions.
  EXPECT_EQ(digests[RuleFields::ipv4], 6840045160196946727U);
  EXPECT_EQ(digests[RuleFields::ipv6], 17741671613674328591U);
  EXPECT_EQ(digests[RuleFields::openflow], 3510625968286232618U);
}

struct Knobs {
  std::uint32_t rules, classes, full_classes, matching_classes;
  bool all_meet;  ///< True if every rule is part of an overlap.

  friend std::ostream& operator<<(std::ostream& out, const Knobs& k) {
    return out << "N " << k.rules << ", C " << k.classes << ", F " << k.full_classes << ", Cm " << k.matching_classes;
  }
};

class RuleGeneratorKnobs : public ::testing::TestWithParam<std::tuple<RuleFields, Knobs>> {
 protected:
  RuleFields fields() const { return std::get<0>(GetParam()); }
  Knobs knobs() const { return std::get<1>(GetParam()); }
  RuleGeneratorOptions options() const {
    return {.fields = fields(),
            .rules = knobs().rules,
            .classes = knobs().classes,
            .full_classes = knobs().full_classes,
            .matching_classes = knobs().matching_classes};
  }
};

TEST_P(RuleGeneratorKnobs, GiveWhatTheySay) {
  const auto [rules, overlaps] = generate_rules(options());
  ASSERT_EQ(rules.size(), knobs().rules);
  std::map<RuleWords, std::uint32_t> sizes;
  std::set<std::pair<RuleWords, RuleWords>> different;
  for (const Rule& rule : rules) {
    ++sizes[rule.match.mask];
    different.emplace(rule.match.mask, rule.match.value);
    EXPECT_EQ(normalised(rule.match, fields()), rule.match);
    EXPECT_FALSE(rule.match.has_ranges());
  }
  EXPECT_EQ(different.size(), rules.size());
  ASSERT_EQ(sizes.size(), knobs().classes);
  // F subtables have [N - (C - F)] / F rules, the others one.
  const std::uint32_t shared = knobs().rules - (knobs().classes - knobs().full_classes);
  std::vector<std::uint32_t> expected(knobs().classes, 1), found;
  for (std::uint32_t i = 0; i < knobs().full_classes; ++i) {
    expected[i] = shared / knobs().full_classes + (i < shared % knobs().full_classes ? 1 : 0);
  }
  for (const auto& [mask, size] : sizes) found.push_back(size);
  std::ranges::sort(found, std::greater<>());
  EXPECT_EQ(found, expected);

  // A header inside an overlap matches Cm rules, one of each subtable.
  ASSERT_FALSE(overlaps.empty());
  HeaderGenerator headers(fields(), rules, overlaps, {});
  std::set<const Rule*> met;
  for (std::size_t i = 0; i < std::min<std::size_t>(2000, 4 * overlaps.size()); ++i) {
    const auto header = headers.next();
    std::set<RuleWords> masks;
    std::uint32_t matching = 0;
    for (const Rule& rule : rules) {
      if (!matches(rule.match, fields(), header.key)) continue;
      ++matching;
      masks.insert(rule.match.mask);
      met.insert(&rule);
    }
    ASSERT_EQ(matching, knobs().matching_classes);
    ASSERT_EQ(masks.size(), matching);
  }
  // Every rule is part of an overlap, if the sizes of the subtables permit it.
  std::set<const Rule*> parts;
  for (const Rule& rule : rules) {
    const bool is_part = std::ranges::any_of(overlaps, [&](const RuleMatch& overlap) {
      for (std::size_t word = 0; word < kRuleWords; ++word) {
        if ((rule.match.mask[word] & ~overlap.mask[word]) != 0) return false;
      }
      return matches(rule.match, fields(), overlap.value);
    });
    if (is_part) parts.insert(&rule);
  }
  EXPECT_EQ(parts.size() == rules.size(), knobs().all_meet);
  EXPECT_TRUE(std::ranges::includes(parts, met));
}

TEST_P(RuleGeneratorKnobs, CanBeWrittenAndReadBack) {
  const auto generated = generate_rules(options());
  const RuleList back = parse_rules(rules_text(fields(), generated.rules), "rules");
  EXPECT_EQ(back.fields, fields());
  EXPECT_EQ(back.rules, generated.rules);
  std::vector<Rule> overlaps;
  overlaps.reserve(generated.overlaps.size());
  for (const RuleMatch& overlap : generated.overlaps) overlaps.push_back({.match = overlap, .priority = 0});
  EXPECT_EQ(parse_rules(rules_text(fields(), overlaps), "overlaps").rules, overlaps);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, RuleGeneratorKnobs,
    ::testing::Combine(::testing::ValuesIn(kAllFields),
                       ::testing::Values(Knobs{1, 1, 1, 1, true}, Knobs{256, 1, 1, 1, true},
                                         Knobs{300, 300, 300, 1, true}, Knobs{300, 300, 1, 300, true},
                                         Knobs{1024, 128, 128, 1, true}, Knobs{1024, 128, 4, 1, true},
                                         Knobs{1024, 128, 128, 16, true}, Knobs{1024, 128, 128, 128, true},
                                         Knobs{1024, 128, 4, 8, true}, Knobs{1024, 128, 12, 8, true},
                                         Knobs{1000, 127, 10, 4, false}, Knobs{1001, 128, 128, 128, false})));

TEST(RuleGenerator, AMillionRulesOfThousandsOfClasses) {
  const auto [rules, overlaps] = generate_rules({.fields = RuleFields::ipv4,
                                                 .rules = kMostRules,
                                                 .classes = 10'000,
                                                 .full_classes = 10'000,
                                                 .matching_classes = 4});
  std::set<RuleWords> masks;
  for (const Rule& rule : rules) masks.insert(rule.match.mask);
  EXPECT_EQ(rules.size(), kMostRules);
  EXPECT_EQ(masks.size(), 10'000U);
  EXPECT_EQ(overlaps.size(), kMostRules / 4);
}

TEST(RuleGenerator, OpenFlowHasAllPriorities) {
  const auto generated = generate_rules({.rules = 20'000});
  std::set<std::uint16_t> priorities;
  for (const Rule& rule : generated.rules) priorities.insert(rule.priority);
  EXPECT_GT(priorities.size(), 10'000U);
}

TEST(RuleGenerator, SaysWhichOptionIsOutOfRange) {
  const auto refused = [](const RuleGeneratorOptions& options) -> std::string {
    return message_of<std::invalid_argument>([&] { generate_rules(options); });
  };
  EXPECT_EQ(refused({.rules = 0}), "the number of rules must be from 1 to 1000000, not 0");
  EXPECT_EQ(refused({.rules = kMostRules + 1}), "the number of rules must be from 1 to 1000000, not 1000001");
  EXPECT_EQ(refused({.rules = 5, .classes = 6}), "the number of classes must be from 1 to 5, not 6");
  EXPECT_EQ(refused({.rules = 99'999, .classes = 16'385}), "the number of classes must be from 1 to 16384, not 16385");
  EXPECT_EQ(refused({.classes = 8, .full_classes = 0}), "the number of full classes must be from 1 to 8, not 0");
  EXPECT_EQ(refused({.classes = 8, .full_classes = 9}), "the number of full classes must be from 1 to 8, not 9");
  EXPECT_EQ(refused({.matching_classes = 129}), "the number of matching classes must be from 1 to 128, not 129");
}

}  // namespace
}  // namespace penumbra::control::rules
