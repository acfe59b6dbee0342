// SPDX-License-Identifier: Apache-2.0
//
// A rule structure compared with linear search: small cases, random rules of every kind, and changing rules. Compiled
// into each structure's test program.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "tables/rules/rules_testing.h"

namespace penumbra {
namespace {

using rules_testing::expect_right;
using rules_testing::Knobs;
using rules_testing::Rules;

/// Rules of one kind of fields, in a table with an engine for lookups.
struct Classifier {
  Classifier(const std::string& engine, RuleFields fields)
      : table(rules_testing::make_table(fields, no_readers)),
        rules(fields, no_readers),
        run(engine, table->shader(), table->table()) {
    rules.feed(*table);
  }
  std::uint32_t best(const RuleWords& key) { return rules_testing::answers_of(run, rules.fields(), {key}, 1)[0]; }

  NoReaders no_readers;
  std::unique_ptr<RuleTable> table;
  RuleSet rules;
  conformance::ShaderRun run;
};

constexpr RuleWords kTcp{0x0A000001C0000201, 0x04D2005006000000};  // 10.0.0.1:1234 to 192.0.2.1:80

Rule ipv4_rule(std::uint64_t addresses_mask, PortRange source, PortRange destination, std::uint16_t priority) {
  return {{.value = {kTcp[0] & addresses_mask},
           .mask = {addresses_mask},
           .source_ports = source,
           .destination_ports = destination},
          priority};
}

class RuleLookup : public testing::TestWithParam<std::string> {
 protected:
  /// Tests rules with these parameters, first with keys that match many rules, then with keys that match few.
  void expect_right_of(const Knobs& knobs, std::size_t count, std::uint64_t seed) {
    Classifier of(GetParam(), knobs.fields);
    Rules source(knobs, seed);
    std::vector<RuleWords> keys;
    for (std::size_t i = 0; i < count; ++i) {
      const Rule rule = source.rule();
      of.rules.add(rule);
      if (i % (count / 300 + 1) == 0) keys.push_back(source.key_of(rule.match));
    }
    of.rules.commit();
    for (int i = 0; i < 100; ++i) keys.push_back(source.key());
    expect_right(of.run, of.rules, keys);
  }
};

TEST_P(RuleLookup, OfNoRulesFindsNone) {
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow}) {
    Classifier of(GetParam(), fields);
    EXPECT_EQ(of.best({}), RULES_NONE);
    EXPECT_EQ(of.best(kTcp), RULES_NONE);
  }
}

TEST_P(RuleLookup, TakesTheHighestPriorityAndOfEqualOnesTheFirst) {
  Classifier of(GetParam(), RuleFields::ipv4);
  const std::uint32_t all = of.rules.add({{}, 0});
  const std::uint32_t first = of.rules.add(ipv4_rule(0xFF00000000000000, {}, {}, 5));
  const std::uint32_t second = of.rules.add(ipv4_rule(0xFFFF000000000000, {}, {}, 5));
  const std::uint32_t same = of.rules.add(ipv4_rule(0xFF00000000000000, {}, {}, 5));
  const std::uint32_t higher = of.rules.add(ipv4_rule(0xFF00000000000000, {}, {80, 81}, 6));
  EXPECT_EQ(of.best(kTcp), RULES_NONE) << "nothing counts before it is committed";
  of.rules.commit();
  for (const std::uint32_t right : {higher, first, second, same, all}) {
    EXPECT_EQ(of.best(kTcp), right);
    of.rules.remove(right);
    EXPECT_EQ(of.best(kTcp), right) << "it counts until then";
    of.rules.commit();
  }
  EXPECT_EQ(of.best(kTcp), RULES_NONE);
}

/// All 64 bits of a rank count, unlike the 8-bit priority in the 32-bit words of the paper.
TEST_P(RuleLookup, TellsRanksApartThatDifferInTheirLowestBit) {
  NoReaders no_readers;
  const auto table = rules_testing::make_table(RuleFields::ipv4, no_readers);
  const RuleMatch narrow{.value = {kTcp[0]}, .mask = {~0ULL}, .source_ports = {}, .destination_ports = {}};
  table->insert(1, narrow, 0xFFFF000000000001);
  table->insert(2, {}, 0xFFFF000000000002);
  table->insert(3, narrow, 0xFFFF000000000000);
  table->commit();
  conformance::ShaderRun run(GetParam(), table->shader(), table->table());
  const auto found = rules_testing::answers_of(run, RuleFields::ipv4, {kTcp, {1}}, 2);
  EXPECT_EQ(found, (std::vector<std::uint32_t>{2, 2}));
}

TEST_P(RuleLookup, KeepsToTheBoundsOfPorts) {
  Classifier of(GetParam(), RuleFields::ipv4);
  const std::vector<PortRange> ranges{{1234, 1234}, {0, 1234},    {1234, 0xFFFF}, {1233, 1235},
                                      {1024, 2047}, {1235, 1236}, {0, 1233},      {0, 0},
                                      {1, 0xFFFE},  {0, 0xFFFE},  {1024, 0xFFFF}};
  std::vector<RuleWords> keys;
  for (const std::uint64_t port :
       {0ULL, 1ULL, 1023ULL, 1024ULL, 1233ULL, 1234ULL, 1235ULL, 0x8000ULL, 0xFFFEULL, 0xFFFFULL}) {
    keys.push_back({kTcp[0], port << kSourcePortShift | 80ULL << kDestinationPortShift});
    keys.push_back({kTcp[0], 80ULL << kSourcePortShift | port << kDestinationPortShift});
  }
  std::vector<std::uint32_t> numbers;
  std::uint16_t priority = 100;
  for (const PortRange& range : ranges) {
    numbers.push_back(of.rules.add(ipv4_rule(~0ULL, range, {}, priority--)));
    numbers.push_back(of.rules.add(ipv4_rule(~0ULL, {}, range, priority--)));
    numbers.push_back(of.rules.add(ipv4_rule(~0ULL, range, range, priority--)));
  }
  for (const std::uint32_t number : numbers) {
    of.rules.commit();
    expect_right(of.run, of.rules, keys);
    of.rules.remove(number);
  }
}

/// A rule may restrict a port by a mask and by a range that no mask expresses.
TEST_P(RuleLookup, TakesMaskAndRangeOfOnePortTogether) {
  Classifier of(GetParam(), RuleFields::ipv4);
  Rule odd_ports = ipv4_rule(0, {1000, 1300}, {}, 1);
  odd_ports.match.mask[1] = odd_ports.match.value[1] = 1ULL << kSourcePortShift;
  of.rules.add(odd_ports);
  of.rules.commit();
  std::vector<RuleWords> keys;
  for (std::uint64_t port = 990; port < 1310; ++port) keys.push_back({0, port << kSourcePortShift});
  expect_right(of.run, of.rules, keys);
}

TEST_P(RuleLookup, EqualsLinearSearchOverTheRangeOfKnobs) {
  // The structure `fast` is slow for many masks with few values each. The test skips this case for further settings of
  // an engine.
  const bool of_settings = GetParam().find(',') != std::string::npos;
  std::uint64_t seed = 1;
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::ipv6, RuleFields::openflow}) {
    for (const std::size_t masks : {1, 7, 64, 700}) {
      for (const std::uint32_t values : {1, 3, 1000}) {
        if (of_settings && masks == 700 && values == 3) continue;
        const Knobs knobs{.fields = fields,
                          .masks = masks,
                          .values = values,
                          .priorities = seed % 3 == 0   ? 1U
                                        : seed % 3 == 1 ? 5U
                                                        : 0x10000U,
                          .ranged = seed % 4 == 0 ? 1U : 4U,
                          .any_bits = seed % 2 == 0};
        SCOPED_TRACE(seed);
        ASSERT_NO_FATAL_FAILURE(expect_right_of(knobs, 1'500 / kSanitizerScale, seed));
        ++seed;
      }
    }
  }
}

/// Each commit removes half of the rules and adds as many others, in commits of every size.
TEST_P(RuleLookup, EqualsLinearSearchWhileRulesComeAndGo) {
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::openflow}) {
    ManualGracePeriods grace_periods;
    const auto table = rules_testing::make_table(fields, grace_periods);
    RuleSet rules(fields, grace_periods);
    rules.feed(*table);
    conformance::ShaderRun run(GetParam(), table->shader(), table->table());
    Rules source({.fields = fields, .masks = 100, .values = 3, .priorities = 4, .ranged = 3, .any_bits = false}, 9);
    std::vector<std::uint32_t> there;
    std::vector<RuleWords> keys;
    for (std::size_t round = 0; round < 200 / kSanitizerScale + 10; ++round) {
      const std::size_t changes = 1 + source.random().below(1U << source.random().below(9));
      for (std::size_t i = 0; i < changes; ++i) {
        if (there.size() > 500 || (!there.empty() && source.random().below(2) == 0)) {
          std::uint32_t& any = there[source.random().below(static_cast<std::uint32_t>(there.size()))];
          rules.remove(any);
          any = there.back();
          there.pop_back();
        } else {
          const Rule rule = source.rule();
          there.push_back(rules.add(rule));
          keys.push_back(source.key_of(rule.match));
        }
      }
      rules.commit();
      if (source.random().below(3) == 0) grace_periods.end_all();
      while (keys.size() > 64) keys.erase(keys.begin(), keys.begin() + 32);
      ASSERT_NO_FATAL_FAILURE(expect_right(run, rules, keys)) << "round " << round;
    }
    EXPECT_EQ(rules.size(), there.size());
  }
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(RuleLookup);

TEST(RuleTables, RefuseNumbersThatAreNone) {
  NoReaders no_readers;
  const auto table = rules_testing::make_table(RuleFields::ipv6, no_readers);
  table->insert(5, {}, 1);
  EXPECT_THROW(table->insert(0, {}, 2), std::invalid_argument);
  EXPECT_THROW(table->insert(kMostRules + 1, {}, 2), std::invalid_argument);
  EXPECT_THROW(table->insert(5, {}, 2), std::invalid_argument);
  EXPECT_THROW(table->remove(4), std::invalid_argument);
  EXPECT_THROW(table->remove(0), std::invalid_argument);
  EXPECT_THROW(table->remove(~0U), std::invalid_argument);
  table->remove(5);
  EXPECT_THROW(table->remove(5), std::invalid_argument);
  EXPECT_THROW(table->insert(5, {}, 2), std::invalid_argument) << "it counts until the commit";
  table->insert(kMostRules, {}, 2);
  table->commit();
  table->insert(5, {}, 2);
}

/// One commit with all rules, then lookups of some keys. The test prints the rate.
TEST(RuleTables, TakeAMillionRules) {
  NoReaders no_readers;
  const auto table = rules_testing::make_table(RuleFields::ipv4, no_readers);
  RuleSet rules(RuleFields::ipv4, no_readers);
  Rules source({.masks = 1000, .values = 100'000, .priorities = 0x10000, .ranged = 10}, 5);
  std::vector<RuleWords> keys;
  constexpr std::uint32_t kRules = kMostRules / kSanitizerScale;
  for (std::uint32_t i = 0; i < kRules; ++i) {
    const Rule rule = source.rule();
    rules.add(rule);
    if (i % (kRules / 30) == 0) keys.push_back(source.key_of(rule.match));
  }
  const auto begin = std::chrono::steady_clock::now();
  rules.feed(*table);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  std::cout << kRules << " rules at " << static_cast<std::uint64_t>(kRules / seconds.count()) << " a second, "
            << (table->memory_bytes() >> 20) << " MiB\n";
  conformance::ShaderRun run("scalar", table->shader(), table->table());
  const auto found = rules_testing::answers_of(run, RuleFields::ipv4, keys, 64);
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(found[i], rules.best(keys[i])) << "key " << i;
}

/// Readers of older states may read a removed rule until they are gone. Reusing its number waits for these readers.
TEST(RuleTables, GiveNumbersBackAfterGracePeriods) {
  ManualGracePeriods grace_periods;
  const auto table = rules_testing::make_table(RuleFields::ipv4, grace_periods);
  table->insert(1, {}, 1);
  table->commit();
  table->remove(1);
  table->commit();
  const int waits = grace_periods.waits;
  EXPECT_GT(grace_periods.started, 0U);
  table->insert(1, {}, 2);
  EXPECT_GT(grace_periods.waits, waits);
  table->remove(1);
  for (int i = 0; i < 4; ++i) {
    table->commit();
    grace_periods.end_all();
  }
  const int waits_since = grace_periods.waits;
  table->insert(1, {}, 3);
  EXPECT_EQ(grace_periods.waits, waits_since);
}

}  // namespace
}  // namespace penumbra
