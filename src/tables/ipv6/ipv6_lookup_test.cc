// SPDX-License-Identifier: Apache-2.0
//
// Small cases, random tables and limits of an IPv6 table. Compiled into each table's test program.
#include "tables/ipv6/ipv6_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "tables/ipv6/ipv6_testing.h"
#include "testing/message_of.h"

namespace penumbra {
namespace {

using ipv6_testing::address;
using ipv6_testing::make_table;
using ipv6_testing::Oracle;
using ipv6_testing::prefix;
using prefix_testing::column;
using prefix_testing::columns;
using prefix_testing::entries_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Ipv6Lookups : public testing::TestWithParam<std::string> {
 protected:
  std::uint16_t lookup(const char* text) {
    const ipv6_address each = column(address(text));
    std::uint16_t next_hop = 0x1234;
    run_({&each}, {&next_hop}, 1, 1);
    return next_hop;
  }
  void expect_equal(const Oracle& oracle, const std::vector<Ipv6Address>& probes, std::uint32_t batch) {
    table_->commit();
    const auto asked = columns(probes);
    std::vector<std::uint16_t> found(probes.size(), 0x1234);
    run_({asked.data()}, {found.data()}, probes.size(), batch);
    for (std::size_t i = 0; i < probes.size(); ++i) {
      ASSERT_EQ(found[i], oracle.next_hop(probes[i])) << to_string(probes[i]);
      ASSERT_EQ(table_->match(probes[i]), oracle.match(probes[i])) << to_string(probes[i]);
    }
  }

  NoReaders no_readers_;
  std::unique_ptr<Ipv6Lookup> table_ = make_table(no_readers_);
  conformance::ShaderRun run_{GetParam(), table_->shader_name(), table_->table()};
};

TEST_P(Ipv6Lookups, AnswersNothingWhenEmpty) {
  EXPECT_EQ(lookup("::"), Ipv6Lookup::kNoRoute);
  EXPECT_EQ(lookup("2001:db8::1"), Ipv6Lookup::kNoRoute);
  EXPECT_EQ(lookup("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), Ipv6Lookup::kNoRoute);
}

TEST_P(Ipv6Lookups, HasItsLowestAndHighestNextHopAtEveryLength) {
  for (unsigned length = 0; length <= 128; ++length) {
    for (const std::uint16_t next_hop : {0, 32'767}) {
      const Ipv6Prefix each = Ipv6Prefix::around(address("2001:db8:1234:5678:9abc:def0:1234:5678"), length);
      table_->insert(each, next_hop);
      table_->commit();
      ASSERT_EQ(lookup("2001:db8:1234:5678:9abc:def0:1234:5678"), next_hop) << length;
      table_->remove(each);
      table_->commit();
      ASSERT_EQ(lookup("2001:db8:1234:5678:9abc:def0:1234:5678"), Ipv6Lookup::kNoRoute) << length;
    }
  }
}

/// One prefix of every length over one address, inserted and removed in random orders.
TEST_P(Ipv6Lookups, PeelsNestedPrefixesInAnyOrder) {
  const Ipv6Address inmost = address("2a0c:5678:9abc:def0:1234:5678:9abc:def0");
  std::vector<Ipv6Address> probes{{0, 0}, {~std::uint64_t{0}, ~std::uint64_t{0}}, inmost};
  for (unsigned bit = 0; bit < 64; ++bit) {
    probes.push_back({inmost.high ^ std::uint64_t{1} << bit, inmost.low});
    probes.push_back({inmost.high, inmost.low ^ std::uint64_t{1} << bit});
  }
  std::vector<unsigned> lengths(129);
  for (unsigned length = 0; length <= 128; ++length) lengths[length] = length;
  std::mt19937 order(2);
  Random random(2);
  Oracle oracle;
  for (int round = 0; round < (kSanitizerScale == 1 ? 3 : 1); ++round) {
    std::shuffle(lengths.begin(), lengths.end(), order);
    for (const unsigned length : lengths) {
      const Ipv6Prefix each = Ipv6Prefix::around(inmost, length);
      const auto next_hop = static_cast<std::uint16_t>(random.below(Ipv6Lookup::kMaxNextHops));
      ASSERT_EQ(table_->insert(each, next_hop), oracle.insert({each, next_hop}));
      ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 64)) << length << " in";
    }
    EXPECT_EQ(table_->size(), 129U);
    std::shuffle(lengths.begin(), lengths.end(), order);
    for (const unsigned length : lengths) {
      const Ipv6Prefix each = Ipv6Prefix::around(inmost, length);
      ASSERT_EQ(table_->remove(each), oracle.remove(each));
      ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 7)) << length << " out";
    }
    EXPECT_EQ(table_->size(), 0U);
  }
}

/// Random tables are loaded, changed one prefix at a time, and emptied.
TEST_P(Ipv6Lookups, EqualsTheOracleOnRandomTables) {
  for (std::uint64_t seed = 0; seed < (kSanitizerScale == 1 ? 12 : 2); ++seed) {
    Random random(seed);
    const std::size_t count = std::size_t{1} << random.below(11);
    const auto prefixes = ipv6_testing::nested_prefixes(count, random);
    std::vector<Ipv6Address> probes;
    for (const Ipv6Prefix each : prefixes) prefix_testing::add_probes(each, random, probes);
    Oracle oracle;
    std::vector<Ipv6Entry> loaded;
    const auto any_next_hop = [&random] { return static_cast<std::uint16_t>(random.below(Ipv6Lookup::kMaxNextHops)); };
    for (std::size_t i = 0; i < count / 2; ++i) {
      loaded.push_back({prefixes[i], any_next_hop()});
      oracle.insert(loaded.back());
    }
    table_->load(loaded);
    ASSERT_EQ(table_->size(), oracle.size());
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 64)) << "loaded, seed " << seed;
    for (std::size_t i = 0; i < 2 * count; ++i) {
      const Ipv6Prefix each = prefixes[random.below(static_cast<std::uint32_t>(count))];
      if (random.below(3) == 0) {
        ASSERT_EQ(table_->remove(each), oracle.remove(each));
      } else {
        const std::uint16_t next_hop = any_next_hop();
        ASSERT_EQ(table_->insert(each, next_hop), oracle.insert({each, next_hop}));
      }
      if (i % std::max<std::size_t>(1, count / 4) == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 4096)) << "change " << i << ", seed " << seed;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 4096)) << "seed " << seed;
    for (const Ipv6Prefix each : prefixes) ASSERT_EQ(table_->remove(each), oracle.remove(each));
    ASSERT_NO_FATAL_FAILURE(expect_equal(oracle, probes, 1)) << "emptied, seed " << seed;
  }
}

TEST_P(Ipv6Lookups, SeesWhatWasLoaded) {
  table_->insert(prefix("2001:db8::/32"), 1);
  const std::vector<Ipv6Entry> entries{
      {prefix("2a00::1/128"), 2}, {prefix("2a00::/16"), 3}, {prefix("2a00::1/128"), 4}};
  table_->load(entries);
  EXPECT_EQ(lookup("2001:db8::1"), Ipv6Lookup::kNoRoute);
  EXPECT_EQ(lookup("2a00::1"), 4);
  EXPECT_EQ(lookup("2a00::2"), 3);
  EXPECT_THAT(entries_of(*table_), ElementsAre(entries[1], entries[2]));
}

PENUMBRA_FOR_EACH_ENGINE(Ipv6Lookups);
PENUMBRA_WITHOUT_AVX512(Ipv6Lookups);

/// Lookups with few accesses, many accesses and no route alternate.
class Ipv6LookupsOfAnyCount : public Ipv6Lookups {};

TEST_P(Ipv6LookupsOfAnyCount, AnswerAllAndNoMore) {
  Oracle oracle;
  std::uint16_t next_hop = 0;
  for (const char* text :
       {"2001::/16", "2001:db8::/32", "2001:db8:1::/48", "2001:db8:1:2::/64", "2001:db8:1:2::3/128"}) {
    table_->insert(prefix(text), next_hop);
    oracle.insert({prefix(text), next_hop++});
  }
  table_->commit();
  Random random(3);
  std::vector<Ipv6Address> probes(600);
  for (auto& each : probes) {
    each = address("2001:db8:1:2::3");
    if (const std::uint32_t bit = random.below(192); bit < 64) each.high ^= std::uint64_t{1} << bit;
  }
  const auto asked = columns(probes);
  for (std::uint32_t count = 0; count <= probes.size(); ++count) {
    std::vector<std::uint16_t> found(count + 1, 0x1234);
    run_({asked.data()}, {found.data()}, count, 1000);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(found[i], oracle.next_hop(probes[i])) << i << " of " << count;
    ASSERT_EQ(found[count], 0x1234) << count;
  }
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(Ipv6LookupsOfAnyCount);

class Ipv6Tables : public testing::Test {
 protected:
  std::uint16_t lookup(const char* text) {
    const ipv6_address each = column(address(text));
    std::uint16_t next_hop = 0x1234;
    conformance::ShaderRun run("scalar", table_->shader_name(), table_->table());
    run({&each}, {&next_hop}, 1, 1);
    return next_hop;
  }

  ManualGracePeriods grace_periods_;
  std::unique_ptr<Ipv6Lookup> table_ = make_table(grace_periods_);
};

TEST_F(Ipv6Tables, TellNewFromReplacedAndThereFromMissing) {
  for (const char* text : {"::/0", "2000::/3", "2001:db8::/32", "2001:db8::/48", "2001:db8::/64", "2001:db8::1/128"}) {
    EXPECT_FALSE(table_->remove(prefix(text)));
    EXPECT_EQ(table_->find(prefix(text)), std::nullopt);
    EXPECT_TRUE(table_->insert(prefix(text), 5));
    EXPECT_FALSE(table_->insert(prefix(text), 5));
    EXPECT_FALSE(table_->insert(prefix(text), 6));
    EXPECT_EQ(table_->find(prefix(text)), 6);
    EXPECT_EQ(table_->size(), 1U);
    EXPECT_TRUE(table_->remove(prefix(text)));
    EXPECT_FALSE(table_->remove(prefix(text)));
    EXPECT_EQ(table_->size(), 0U);
  }
}

TEST_F(Ipv6Tables, RefuseWhatIsNoPrefix) {
  for (const Ipv6Prefix wrong : {Ipv6Prefix{{1, 0}, 63}, Ipv6Prefix{{0, 1}, 127}, Ipv6Prefix{{0, 0}, 129}}) {
    EXPECT_THROW(table_->insert(wrong, 1), std::invalid_argument);
    EXPECT_THROW(table_->remove(wrong), std::invalid_argument);
    EXPECT_THROW(table_->find(wrong), std::invalid_argument);
    EXPECT_THROW(table_->load(std::vector<Ipv6Entry>{{wrong, 1}}), std::invalid_argument);
  }
  EXPECT_THAT(entries_of(*table_), IsEmpty());
}

TEST_F(Ipv6Tables, RefuseNextHopsPastTheirLimitAndStayAsTheyWere) {
  table_->insert(prefix("2001:db8::/32"), 7);
  const auto entries = entries_of(*table_);
  for (const std::uint16_t next_hop : {std::uint16_t{32'768}, std::uint16_t{65'535}}) {
    for (const char* text : {"2001:db8::/32", "2001:db8::1/128", "::/0"}) {
      EXPECT_THAT(message_of<std::length_error>([&] { table_->insert(prefix(text), next_hop); }),
                  HasSubstr("32768 next hops"));
      const std::vector<Ipv6Entry> load{{prefix("2a00::/16"), 1}, {prefix(text), next_hop}};
      EXPECT_THAT(message_of<std::length_error>([&] { table_->load(load); }), HasSubstr("32768 next hops"));
    }
  }
  EXPECT_EQ(entries_of(*table_), entries);
  EXPECT_EQ(lookup("2001:db8::1"), 7);
  EXPECT_EQ(lookup("2a00::1"), Ipv6Lookup::kNoRoute);
}

TEST_F(Ipv6Tables, HoldAMillionPrefixesAndStayAsTheyWereAtOneMore) {
  if (kSanitizerScale != 1) GTEST_SKIP() << "takes gigabytes with a sanitizer";
  std::vector<Ipv6Entry> entries;
  entries.reserve(Ipv6Lookup::kMaxPrefixes + 1);
  for (std::uint64_t i = 0; i < Ipv6Lookup::kMaxPrefixes; ++i) {
    entries.push_back({Ipv6Prefix::around({std::uint64_t{0x20} << 56 | i << 16, 0}, 48),
                       static_cast<std::uint16_t>(i % Ipv6Lookup::kMaxNextHops)});
  }
  table_->load(entries);
  EXPECT_EQ(table_->size(), Ipv6Lookup::kMaxPrefixes);
  EXPECT_EQ(lookup("2000:f:ffff:1::"), 32'767);
  EXPECT_THAT(message_of<std::length_error>([&] { table_->insert(prefix("::/0"), 1); }), HasSubstr("1048576 prefixes"));
  entries.push_back({prefix("::/0"), 1});
  EXPECT_THAT(message_of<std::length_error>([&] { table_->load(entries); }), HasSubstr("1048576 prefixes"));
  entries.back() = entries.front();
  EXPECT_NO_THROW(table_->load(entries)) << "one prefix twice is one prefix";
  entries.pop_back();
  EXPECT_EQ(entries_of(*table_), entries);
  EXPECT_FALSE(table_->insert(entries.front().prefix, 77)) << "a replacement needs no room";
  EXPECT_TRUE(table_->remove(entries.front().prefix));
  EXPECT_TRUE(table_->insert(prefix("::/0"), 1)) << "there is room again";
}

TEST_F(Ipv6Tables, KeepTheOldContentForReadersUntilTheGracePeriodAfterALoad) {
  table_->insert(prefix("2001:db8::/32"), 1);
  table_->insert(prefix("2001:db8::1/128"), 2);
  const void* const old = table_->table().view();
  bool looked = false;
  grace_periods_.while_waiting = [&] {
    EXPECT_NE(table_->table().view(), old);
    looked = true;
  };
  table_->load(std::vector<Ipv6Entry>{{prefix("::/0"), 3}});
  EXPECT_TRUE(looked);
  EXPECT_EQ(lookup("2001:db8::1"), 3);
}

TEST_F(Ipv6Tables, CountTheirMemory) {
  const std::size_t empty = table_->memory_bytes();
  Random random(7);
  for (const Ipv6Prefix each : ipv6_testing::nested_prefixes(1000, random)) table_->insert(each, 1);
  EXPECT_GE(table_->memory_bytes(), empty + table_->size() * sizeof(Ipv6Entry));
  EXPECT_GE(table_->memory_bytes(), table_->lookup_bytes());
}

}  // namespace
}  // namespace penumbra
