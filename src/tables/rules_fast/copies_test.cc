// SPDX-License-Identifier: Apache-2.0
//
// A rule must be in every slot where a matching key looks, and its box must contain every matching key.
#include "tables/rules_fast/copies.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>

#include "tables/rules/rules_testing.h"
#include "tables/rules_fast/leaves.h"
#include "tables/rules_fast/plan.h"

namespace penumbra::rules_fast {
namespace {

using rules_testing::Knobs;
using rules_testing::Rules;

constexpr RuleFields kAllFields[]{RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow};

RuleWords both(const RuleWords& one, const RuleWords& other) {
  RuleWords words{};
  for (std::size_t word = 0; word < kRuleWords; ++word) words[word] = one[word] & other[word];
  return words;
}

TEST(Copies, AreWhereKeysOfTheRuleAreLookedFor) {
  for (const RuleFields fields : kAllFields) {
    Rules source({.fields = fields, .masks = 50, .values = 20, .priorities = 1, .ranged = 2, .any_bits = true}, 7);
    std::size_t found = 0;
    for (int i = 0; i < 5000; ++i) {
      const RuleMatch match = source.rule().match;
      RuleWords bits = both(match.mask, source.rule().match.mask);
      // Adds bits that the rule leaves open, and port bits.
      bits[source.random().below(static_cast<std::uint32_t>(words_of(fields)))] |= 1ULL << source.random().below(64);
      bits[words_of(fields) - 1] |= (source.random().next() & source.random().next()) & 0xF00FULL
                                                                                            << kDestinationPortShift;
      std::set<RuleWords> copies;
      if (!for_each_copy(match, words_of(fields), bits, [&](const RuleWords& copy) { copies.insert(copy); })) {
        EXPECT_TRUE(copies.empty());
        continue;
      }
      ++found;
      EXPECT_LE(copies.size(), kMostCopies);
      for (int j = 0; j < 10; ++j) {
        const RuleWords key = source.key_of(match);
        EXPECT_TRUE(!matches(match, fields, key) || copies.contains(both(key, bits)));
      }
    }
    EXPECT_GT(found, 1000U);
  }
}

TEST(Copies, OfRulesThatTellAllBitsAreOne) {
  RuleMatch match{.value = {5}, .mask = {0xFF}, .source_ports = {}, .destination_ports = {}};
  std::size_t copies = 0;
  EXPECT_TRUE(for_each_copy(match, 2, {0xF}, [&](const RuleWords& copy) {
    EXPECT_EQ(copy, RuleWords{5});
    ++copies;
  }));
  EXPECT_EQ(copies, 1U);
}

TEST(Boxes, AreAroundWhatRulesMatch) {
  for (const RuleFields fields : kAllFields) {
    for (const bool any_bits : {false, true}) {
      Rules source({.fields = fields, .masks = 50, .values = 20, .priorities = 1, .ranged = 2, .any_bits = any_bits},
                   8);
      for (int i = 0; i < 2000; ++i) {
        const RuleMatch match = source.rule().match;
        const Box box = box_of(match, fields);
        for (int j = 0; j < 4; ++j) {
          const RuleWords key = j < 2 ? source.key_of(match) : source.key();
          const bool is_inside = rules_fast_is_inside(box.row.low.data(), box.row.span.data(), key.data(),
                                                      static_cast<std::uint32_t>(words_of(fields)), 0) != 0;
          EXPECT_TRUE(is_inside || !matches(match, fields, key));
          EXPECT_TRUE(!box.is_all || is_inside == matches(match, fields, key));
        }
      }
    }
  }
}

TEST(Plan, PlacesRulesOfOneMaskByTheirMask) {
  Rules source(
      {.fields = RuleFields::ipv4, .masks = 1, .values = 1000, .priorities = 1, .ranged = 1'000'000, .any_bits = false},
      3);
  constexpr std::size_t kRules = 500;
  std::vector<Rule> rules;
  std::vector<const RuleMatch*> pointers;
  rules.reserve(kRules);
  pointers.reserve(kRules);
  for (std::size_t i = 0; i < kRules; ++i) rules.push_back(source.rule());
  for (const Rule& rule : rules) pointers.push_back(&rule.match);
  const RuleWords bits = choose_bits(pointers, RuleFields::ipv4, Care::thorough);
  EXPECT_EQ(both(bits, rules.front().match.mask), bits);
  EXPECT_NE(bits, RuleWords{});
}

}  // namespace
}  // namespace penumbra::rules_fast
