// SPDX-License-Identifier: Apache-2.0
//
// The set of rules, with a table that records its calls, and the names of structures.
#include "tables/rules/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "base/random.h"
#include "base/testing_grace_periods.h"
#include "tables/rules/rule_structures.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

using testing::HasSubstr;

class NotingTable final : public RuleTable {
 public:
  void insert(std::uint32_t number, const RuleMatch& match, std::uint64_t rank) override {
    if (is_full) throw std::length_error("no place");
    ASSERT_TRUE(rules.emplace(number, match).second) << "two rules of one number";
    ASSERT_NE(rank, 0U);
    ASSERT_TRUE(ranks.emplace(rank, number).second) << "two rules of one rank";
  }
  void remove(std::uint32_t number) override { ASSERT_EQ(rules.erase(number), 1U); }
  void commit() override { ++commits; }
  const std::string& shader() const override { return table_.name(); }
  Table& table() override { return table_; }
  std::size_t memory_bytes() const override { return 0; }

  std::map<std::uint32_t, RuleMatch> rules;
  std::map<std::uint64_t, std::uint32_t> ranks;  ///< all ranks that were ever inserted
  bool is_full = false;
  int commits = 0;

 private:
  Table table_{"noting"};
};

Rule to_port(std::uint16_t port, std::uint16_t priority) {
  return {.match = {.value = {}, .mask = {}, .source_ports = {}, .destination_ports = {port, port}},
          .priority = priority};
}

RuleWords with_port(std::uint64_t port) {
  return {0, port << kDestinationPortShift};
}

TEST(RuleSet, FeedsTablesThatComeEarlyAndLate) {
  NoReaders no_readers;
  NotingTable early, late;
  RuleSet rules(RuleFields::ipv4, no_readers);
  rules.feed(early);
  const std::uint32_t first = rules.add(to_port(80, 1));
  const std::uint32_t gone = rules.add(to_port(81, 1));
  rules.remove(gone);
  rules.commit();
  rules.feed(late);
  EXPECT_EQ(early.rules, late.rules);
  EXPECT_EQ(late.rules.begin()->first, first);
  EXPECT_EQ(late.rules.begin()->second.mask[1], 0xFFFFULL << kDestinationPortShift) << "normalised";
  EXPECT_EQ(early.commits, 2);
  EXPECT_EQ(rules.size(), 1U);
}

TEST(RuleSet, RanksByPriorityAndThenByAge) {
  NoReaders no_readers;
  NotingTable table;
  RuleSet rules(RuleFields::ipv4, no_readers);
  rules.feed(table);
  const std::uint32_t low = rules.add({{}, 0}), first = rules.add({{}, 0xFFFF}), second = rules.add({{}, 0xFFFF});
  std::vector<std::uint32_t> by_rank;
  by_rank.reserve(table.ranks.size());
  for (const auto& [rank, number] : table.ranks) by_rank.push_back(number);
  EXPECT_EQ(by_rank, (std::vector<std::uint32_t>{low, second, first}));
  EXPECT_EQ(rules.best({}), first);
  rules.remove(first);
  EXPECT_EQ(rules.best({}), second);
  rules.remove(second);
  EXPECT_EQ(rules.best({}), low);
  rules.remove(low);
  EXPECT_EQ(rules.best({}), 0U);
}

TEST(RuleSet, FindsRulesByNumber) {
  NoReaders no_readers;
  RuleSet rules(RuleFields::ipv4, no_readers);
  const std::uint32_t number = rules.add(to_port(80, 7));
  ASSERT_NE(rules.find(number), nullptr);
  EXPECT_EQ(rules.find(number)->priority, 7);
  EXPECT_EQ(rules.best(with_port(80)), number);
  EXPECT_EQ(rules.best(with_port(81)), 0U);
  EXPECT_EQ(rules.find(0), nullptr);
  EXPECT_EQ(rules.find(number + 1), nullptr);
  std::size_t visited = 0;
  rules.for_each([&](std::uint32_t each, const Rule& rule) {
    EXPECT_EQ(each, number);
    EXPECT_EQ(rule, *rules.find(number));
    ++visited;
  });
  EXPECT_EQ(visited, 1U);
  rules.remove(number);
  EXPECT_EQ(rules.find(number), nullptr);
  EXPECT_THROW(rules.remove(number), std::invalid_argument);
  EXPECT_THROW(rules.remove(0), std::invalid_argument);
}

TEST(RuleSet, GivesANumberAgainOnlyAfterGracePeriods) {
  ManualGracePeriods grace_periods;
  RuleSet rules(RuleFields::ipv4, grace_periods);
  const std::uint32_t number = rules.add({});
  rules.remove(number);
  std::set<std::uint32_t> others;
  for (int i = 0; i < 10; ++i) {
    others.insert(rules.add({}));
    rules.commit();
  }
  EXPECT_FALSE(others.contains(number));
  for (int i = 0; i < 3; ++i) {
    grace_periods.end_all();
    rules.commit();
  }
  EXPECT_EQ(rules.add({}), number);
  EXPECT_EQ(grace_periods.waits, 0);
}

TEST(RuleSet, IsAsBeforeIfATableHasNoPlace) {
  NoReaders no_readers;
  NotingTable one, other;
  RuleSet rules(RuleFields::ipv4, no_readers);
  rules.feed(one);
  rules.feed(other);
  const std::uint32_t number = rules.add(to_port(80, 1));
  rules.commit();
  other.is_full = true;
  EXPECT_THROW(rules.add(to_port(80, 2)), std::length_error);
  EXPECT_EQ(rules.size(), 1U);
  EXPECT_EQ(one.rules, other.rules);
  EXPECT_EQ(rules.best(with_port(80)), number);
  other.is_full = false;
  const std::uint32_t next = rules.add(to_port(80, 2));
  EXPECT_EQ(rules.best(with_port(80)), next);
  EXPECT_EQ(one.rules, other.rules);
}

TEST(RuleSet, RefusesMoreThanItTakes) {
  ManualGracePeriods grace_periods;
  RuleSet rules(RuleFields::ipv4, grace_periods);
  for (std::uint32_t i = 0; i < kMostRules; ++i) rules.add({});
  rules.commit();
  EXPECT_THROW(rules.add({}), std::length_error);
  EXPECT_EQ(rules.size(), kMostRules);
  rules.remove(5);
  EXPECT_THROW(rules.add({}), std::length_error) << "it counts until the commit";
  rules.commit();
  EXPECT_EQ(rules.add({}), 5U) << "its number is waited for";
  EXPECT_GT(grace_periods.waits, 0);
}

TEST(RuleStructures, AreKnownByName) {
  NoReaders no_readers;
  std::set<std::string> names;
  for (const RuleStructure& each : rule_structures()) {
    names.insert(each.name);
    EXPECT_FALSE(each.summary.empty());
    for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow}) {
      EXPECT_NE(make_rule_table(each.name, fields, 1, no_readers)->table().view(), nullptr);
    }
  }
  EXPECT_TRUE(names.contains("linear"));
  EXPECT_TRUE(names.contains("tuple"));
  EXPECT_TRUE(names.contains("bloom"));
  EXPECT_EQ(names.size(), rule_structures().size());
  const std::string message =
      message_of<std::invalid_argument>([&] { make_rule_table("blom", RuleFields::ipv4, 1, no_readers); });
  EXPECT_THAT(message, HasSubstr("'blom'"));
  EXPECT_THAT(message, HasSubstr("bloom"));
}

}  // namespace
}  // namespace penumbra
