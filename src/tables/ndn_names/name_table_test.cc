// SPDX-License-Identifier: Apache-2.0
//
// Names on every engine, compared with a map: random names with common prefixes, names of real domains, and names with
// equal digests.
#include "name_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/shared_data.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "name_oracle.h"

namespace penumbra::ndn {
namespace {

using testing_support::any_name;
using testing_support::bytes_of;
using testing_support::Components;
using testing_support::encoded;
using testing_support::NameOracle;
using testing_support::reversed_domain;

constexpr NameKey kKey{11, 12};

class NameLookup : public testing::TestWithParam<std::string> {
 protected:
  void insert(const Components& name, std::uint16_t next_hop) {
    ASSERT_EQ(table_.insert(bytes_of(encoded(name)), next_hop), oracle_.insert(name, next_hop));
  }
  void remove(const Components& name) { ASSERT_EQ(table_.remove(bytes_of(encoded(name))), oracle_.remove(name)); }
  void expect_equal(const std::vector<Components>& names) {
    table_.commit();
    std::vector<std::string> texts;
    std::vector<ndn_names_key> keys(names.size());
    std::vector<std::uint16_t> right;
    for (std::size_t i = 0; i < names.size(); ++i) {
      texts.push_back(encoded(names[i]));
      table_.fill(bytes_of(texts[i]), keys[i]);
      right.push_back(oracle_.match(names[i]));
    }
    for (const std::uint32_t batch : conformance::kBatchSizes) {
      std::vector<std::uint32_t> found(names.size(), 0x1234);
      run_({keys.data()}, {found.data()}, names.size(), batch);
      for (std::size_t i = 0; i < names.size(); ++i) {
        ASSERT_EQ(table_.next_hop(found[i], bytes_of(texts[i])), right[i]) << testing::PrintToString(names[i]);
      }
    }
  }

  NoReaders no_readers_;
  NameTable table_{kKey, no_readers_};
  NameOracle oracle_;
  conformance::ShaderRun run_{GetParam(), "ndn_names", table_.table()};
};

TEST_P(NameLookup, OfAnEmptyTableFindsNothing) {
  expect_equal({{}, {{8, "a"}}, Components(40, {8, "a"})});
}

TEST_P(NameLookup, FindsTheLongestPrefix) {
  insert({}, 1);
  insert({{8, "com"}}, 2);
  insert({{8, "com"}, {8, "example"}, {8, "www"}}, 3);
  insert({{8, "com"}, {9, "example"}}, 4);
  insert({{8, "com"}, {8, ""}}, 0xFFFE);
  expect_equal({{},
                {{8, "org"}},
                {{8, "com"}},
                {{9, "com"}},
                {{8, "com"}, {8, "example"}},
                {{8, "com"}, {8, "example"}, {8, "www"}},
                {{8, "com"}, {8, "example"}, {8, "www"}, {8, "index"}, {50, "\x01"}},
                {{8, "com"}, {8, "example"}, {8, "ftp"}},
                {{8, "com"}, {9, "example"}, {8, "www"}},
                {{8, "com"}, {8, ""}, {8, ""}}});
}

/// Stores and looks up names of each number of components up to the limit, with any first probe.
TEST_P(NameLookup, FindsPrefixesOfEveryLength) {
  Components name;
  for (int i = 0; i < 40; ++i) name.emplace_back(8, std::to_string(i));
  std::vector<Components> asked;
  for (std::size_t count = 0; count <= name.size(); ++count) {
    asked.emplace_back(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(count));
    asked.push_back(asked.back());
    asked.back().emplace_back(8, "else");
  }
  for (std::size_t count = 0; count <= NameTable::kMostComponents; ++count) {
    const Components prefix(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(count));
    insert(prefix, static_cast<std::uint16_t>(count));
    expect_equal(asked);
    if (count % 3 != 0) remove(prefix);
    expect_equal(asked);
    for (int other = 0; other < 3; ++other) insert({Components(count, {8, "other"})}, 7);
  }
}

TEST_P(NameLookup, FindsRandomNames) {
  Random random(5);
  std::vector<Components> names;
  for (std::size_t i = 0; i < 20'000 / kSanitizerScale; ++i) {
    names.push_back(any_name(random, i % 10 == 0 ? NameTable::kMostComponents : 6));
    insert(names.back(), static_cast<std::uint16_t>(random.below(1000)));
    names.push_back(any_name(random, 8));
  }
  expect_equal(names);
  for (std::size_t i = 0; i < names.size(); i += 3) remove(names[i]);
  expect_equal(names);
}

/// The result must equal that of clamped keys, because engines measure shaders on random keys.
TEST_P(NameLookup, AnswersKeysOfAnyBytes) {
  Random random(7);
  for (int i = 0; i < 1000; ++i) insert(any_name(random, 6), static_cast<std::uint16_t>(i));
  std::vector<ndn_names_key> keys(3000), cut;
  for (ndn_names_key& key : keys) {
    table_.fill(bytes_of(encoded(any_name(random, 6))), key);
    key.components = random.below(2) != 0 ? random.below(40) : static_cast<std::uint32_t>(random.next());
    if (random.below(2) != 0) key.first = static_cast<std::uint32_t>(random.next());
    cut.push_back(key);
    cut.back().components = std::min<std::uint32_t>(key.components, NDN_NAMES_COMPONENTS);
    const bool is_there = key.first >= 1 && key.first <= cut.back().components;
    if (!is_there) cut.back().first = cut.back().components;
  }
  table_.commit();
  std::vector<std::uint32_t> found(keys.size(), 0x1234), right(keys.size());
  run_({keys.data()}, {found.data()}, keys.size(), 64);
  ndn_names_lookup(*static_cast<const cuckoo_table_view*>(table_.table().view()), cut.data(), right.data(),
                   static_cast<std::uint32_t>(cut.size()));
  EXPECT_EQ(found, right);
  EXPECT_GT(std::ranges::count_if(right, [](std::uint32_t each) { return each != NDN_NAMES_NONE; }), 100);
}

TEST_P(NameLookup, FindsRealDomains) {
  const auto path = shared_data() / "ndn" / "top-100000-domains";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "the shared data is not there: " << path;
  std::vector<Components> names;
  for (std::string domain; std::getline(file, domain) && names.size() < 30'000 / kSanitizerScale;) {
    names.push_back(reversed_domain(domain));
    if (names.size() % 3 != 0) insert(names.back(), static_cast<std::uint16_t>(1 + names.size() % 1000));
    names.back().emplace_back(8, "index.html");
    if (names.size() % 2 == 0) names.back().insert(names.back().begin() + 1, {8, "nobody"});
  }
  ASSERT_EQ(names.size(), 30'000 / kSanitizerScale);
  insert({{8, "com"}}, 3000);
  expect_equal(names);
}

/// Digests are so short that they often collide, but no answer belongs to another name.
TEST_P(NameLookup, TakesNoNameForAnotherOfTheSameDigest) {
  NameTable table(kKey, no_readers_, 20);
  conformance::ShaderRun run(GetParam(), "ndn_names", table.table());
  NameOracle oracle;
  Random random(6);
  std::size_t refused = 0;
  for (int i = 0; i < 30'000; ++i) {
    const Components name = any_name(random, 10);
    try {
      table.insert(bytes_of(encoded(name)), static_cast<std::uint16_t>(i));
      oracle.insert(name, static_cast<std::uint16_t>(i));
      table_.insert(bytes_of(encoded(name)), static_cast<std::uint16_t>(i));
    } catch (const DigestTaken&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000U);
  ASSERT_EQ(table.size(), oracle.names().size());
  table.commit();
  table_.commit();
  constexpr std::uint32_t kKeys = 30'000;
  std::vector<Components> names(kKeys);
  std::vector<ndn_names_key> keys(kKeys), keys_of_long_digests(kKeys);
  for (std::size_t i = 0; i < kKeys; ++i) {
    names[i] = any_name(random, 10);
    const std::string text = encoded(names[i]);
    table.fill(bytes_of(text), keys[i]);
    table_.fill(bytes_of(text), keys_of_long_digests[i]);
  }
  std::vector<std::uint32_t> found(kKeys), found_by_long_digests(kKeys);
  run({keys.data()}, {found.data()}, kKeys, 64);
  run_({keys_of_long_digests.data()}, {found_by_long_digests.data()}, kKeys, 64);
  std::size_t met = 0;
  for (std::size_t i = 0; i < kKeys; ++i) {
    met += found[i] >> NDN_NAMES_NODE_BITS != found_by_long_digests[i] >> NDN_NAMES_NODE_BITS ? 1 : 0;
    ASSERT_EQ(table.next_hop(found[i], bytes_of(encoded(names[i]))), oracle.match(names[i]));
  }
  EXPECT_GT(met, 100U);
}

PENUMBRA_FOR_EACH_ENGINE_AND_SETTING(NameLookup);

TEST(NameTable, EqualsAMapThroughRandomChanges) {
  ManualGracePeriods grace_periods;
  NameTable table(kKey, grace_periods);
  NameOracle oracle;
  Random random(7);
  for (std::size_t i = 0; i < 100'000 / kSanitizerScale; ++i) {
    const Components name = any_name(random, 5);
    const std::string text = encoded(name);
    if (random.below(2) == 0) {
      ASSERT_EQ(table.insert(bytes_of(text), static_cast<std::uint16_t>(i % 60'000)),
                oracle.insert(name, static_cast<std::uint16_t>(i % 60'000)));
    } else {
      ASSERT_EQ(table.remove(bytes_of(text)), oracle.remove(name));
    }
    if (random.below(10) == 0) table.commit();
    if (random.below(1000) == 0) grace_periods.end_all();
    const auto found = oracle.names().find(text);
    ASSERT_EQ(table.find(bytes_of(text)), found == oracle.names().end() ? std::nullopt : std::optional(found->second));
    ASSERT_EQ(table.size(), oracle.names().size());
  }
  std::map<std::string, std::uint16_t> all;
  table.for_each(
      [&all](Bytes name, std::uint16_t next_hop) { all.emplace(std::string(name.begin(), name.end()), next_hop); });
  EXPECT_EQ(all, oracle.names());
  for (const auto& [name, next_hop] : all) EXPECT_TRUE(table.remove(bytes_of(name)));
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.prefixes(), 0U) << "nothing is left of names that went";
}

TEST(NameTable, UsesMemoryAgainOnlyAfterAGracePeriod) {
  ManualGracePeriods grace_periods;
  NameTable table(kKey, grace_periods);
  const auto come_and_go = [&table](int round) {
    for (int i = 0; i < 100; ++i) {
      const std::string name = encoded({{8, std::to_string(1000 * round + i)}});
      table.insert(bytes_of(name), 1);
      table.remove(bytes_of(name));
    }
    table.commit();
  };
  come_and_go(1);
  const std::size_t once = table.memory_bytes();
  come_and_go(2);
  EXPECT_GT(table.memory_bytes(), once);
  const std::size_t twice = table.memory_bytes();
  for (int round = 3; round < 9; ++round) {
    grace_periods.end_all();
    come_and_go(round);
  }
  EXPECT_EQ(table.memory_bytes(), twice);
}

TEST(NameTable, RefusesWhatIsNoNameOrTooLong) {
  NoReaders no_readers;
  NameTable table(kKey, no_readers);
  const std::array<std::string, 4> wrong{"\x08\x02x", std::string("\x00\x00", 2), "\x01\x01x",
                                         encoded(Components(NameTable::kMostComponents + 1, {8, "a"}))};
  for (const std::string& name : wrong) EXPECT_THROW(table.insert(bytes_of(name), 1), std::invalid_argument);
  EXPECT_THROW(table.insert(bytes_of(encoded({{8, std::string(65'000, 'a')}, {8, std::string(600, 'b')}})), 1),
               std::invalid_argument);
  EXPECT_THROW(table.insert({}, NameTable::kNoRoute), std::invalid_argument);
  EXPECT_EQ(table.size(), 0U);
  EXPECT_TRUE(table.insert(bytes_of(encoded({{8, std::string(65'000, 'a')}})), 1));
}

}  // namespace
}  // namespace penumbra::ndn
