// SPDX-License-Identifier: Apache-2.0
#include "functions/rule_list/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "functions/acl/entry.h"
#include "penumbra/engine.h"
#include "tables/rules/rule_lookup.h"
#include "tables/rules/rule_structures.h"

namespace penumbra::acl {
namespace {

using rule_list::Changes;
using rule_list::compare;
using List = rule_list::List<Entry>;

/// Returns entries from a set of about twenty, so that many are equal.
std::vector<Entry> random_entries(Random& random, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += random.below(2) == 0 ? "permit" : "deny";
    text += " proto udp dport " + std::to_string(random.below(10)) + "-" + std::to_string(10 + random.below(3)) + "\n";
  }
  std::vector<Entry> entries = parse_entries(text, "list", Family::both);
  entries.push_back({.permits = random.below(2) == 0, .match = {}, .text = "default", .line = 0});
  return entries;
}

TEST(AclCompare, FindsWhatGoesOn) {
  const auto list = [](const char* text) { return parse_entries(text, "list", Family::both); };
  const auto before = list("permit src 10.0.0.1\ndeny src 10.0.0.2\npermit src 10.0.0.3\ndeny\n");
  const auto after = list("deny src 10.0.0.9\npermit src 10.0.0.1\npermit src 10.0.0.3\ndeny src 10.0.0.2\ndeny\n");
  const Changes changes = compare<Entry>(before, after);
  EXPECT_EQ(changes.added, 2U);
  EXPECT_EQ(changes.removed, 1U);
  EXPECT_EQ(changes.kept[0], 0U);
  EXPECT_EQ(changes.kept[1], 1U);
  EXPECT_EQ(changes.kept[4], 4U);
  EXPECT_EQ(compare<Entry>(before, before).added, 0U);
  EXPECT_EQ(compare<Entry>(before, {}).removed, 4U);
  EXPECT_EQ(compare<Entry>({}, after).added, 5U);
}

/// The kept entries are a longest common subsequence. A slower algorithm computes its length for comparison.
TEST(AclCompare, KeepsAsManyAsItCan) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    // All entries differ, so that each entry has one counterpart only.
    std::vector<Entry> before;
    before.reserve(20);
    for (std::uint32_t i = 0; i < 20; ++i) {
      before.push_back(parse_entries("permit proto udp dport " + std::to_string(i), "list", Family::both).front());
    }
    std::vector<Entry> after = before;
    for (std::size_t i = 1; i < after.size(); ++i) {
      std::swap(after[i], after[random.below(static_cast<std::uint32_t>(i) + 1)]);
    }
    after.resize(random.below(20));
    std::vector<std::vector<std::size_t>> common(before.size() + 1, std::vector<std::size_t>(after.size() + 1));
    for (std::size_t i = 1; i <= before.size(); ++i) {
      for (std::size_t j = 1; j <= after.size(); ++j) {
        common[i][j] = before[i - 1].is_like(after[j - 1]) ? common[i - 1][j - 1] + 1
                                                           : std::max(common[i - 1][j], common[i][j - 1]);
      }
    }
    EXPECT_EQ(after.size() - compare<Entry>(before, after).added, common.back().back());
  }
}

class AclList : public testing::TestWithParam<std::string> {};

/// Lists replace each other. After each change the result is the first matching entry. Kept entries keep their numbers.
TEST_P(AclList, DecidesAsTheListInForceSays) {
  NoReaders no_readers;
  List list(std::make_unique<rule_list::TableRules>(fields_of(Family::both), GetParam(), 1, no_readers));
  const auto engine = create_engine(engine_at_once(list.shader()));
  engine->use_table(list.table());
  const auto queue = engine->open_queue();
  Random random(2);
  std::map<std::uint32_t, Entry> by_number;
  for (int round = 0; round < 60; ++round) {
    const std::vector<Entry> entries = random_entries(random, random.below(40));
    const std::size_t added = compare<Entry>(list.entries(), entries).added;
    std::size_t begun = 0;
    list.replace(entries, [&](std::uint32_t number, const Entry& entry) {
      by_number[number] = entry;
      ++begun;
    });
    EXPECT_EQ(begun, added);
    std::vector<RuleWords> keys;
    keys.reserve(14);
    for (std::uint16_t port = 0; port < 14; ++port) {
      keys.push_back({0, 1, 0, 2, std::uint64_t{port} << kDestinationPortShift | 17ULL << kProtocolShift | kIpv4Bits});
    }
    const RuleKeys columns(RuleFields::ipv6, keys);
    std::vector<std::uint32_t> numbers(keys.size());
    Batch batch;
    batch.shader = engine->find_shader(list.shader());
    batch.table = &list.table();
    batch.items = static_cast<std::uint32_t>(keys.size());
    batch.inputs[0] = columns.column(0);
    batch.outputs[0] = numbers.data();
    ASSERT_EQ(queue->submit(batch), EngineQueue::Submitted::done);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      std::size_t first = 0;
      while (!matches(entries[first].match, RuleFields::ipv6, keys[i])) ++first;
      EXPECT_EQ(numbers[i], list.number(first));
      EXPECT_TRUE(by_number.at(numbers[i]).is_like(entries[first]));
    }
  }
}

/// Inserts every new entry between the same two entries, until no rank is free between them.
TEST_P(AclList, FindsRoomForEntriesAtOnePlace) {
  NoReaders no_readers;
  List list(std::make_unique<rule_list::TableRules>(fields_of(Family::both), GetParam(), 1, no_readers));
  std::vector<Entry> entries = parse_entries("permit proto udp dport 1\n", "list", Family::both);
  entries.push_back({.permits = false, .match = {}, .text = "default", .line = 0});
  for (std::uint32_t i = 0; i < 150; ++i) {
    entries.insert(entries.begin() + 1,
                   parse_entries("deny proto udp dport " + std::to_string(i + 2), "list", Family::both).front());
    list.replace(entries, [](std::uint32_t, const Entry&) {});
  }
  EXPECT_EQ(list.entries().size(), 152U);
  EXPECT_TRUE(std::ranges::equal(list.entries(), entries, &Entry::is_like));
}

std::vector<std::string> structures() {
  std::vector<std::string> names;
  for (const RuleStructure& structure : rule_structures()) names.push_back(structure.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Structures, AclList, testing::ValuesIn(structures()));

}  // namespace
}  // namespace penumbra::acl
