// SPDX-License-Identifier: Apache-2.0
//
// Tuple and Bloom search with sparse keys, compared with a linear search, on every engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "engines/conformance.h"
#include "tables/copying_mirror.h"
#include "tables/rules_tuple/sparse_testing.h"
#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra {
namespace {

using Search = TupleRules::Search;
using Numbered = std::unordered_map<std::uint32_t, SparseMatch>;
using sparse_testing::DisjointMatches;

constexpr std::uint64_t kSeed = 5;

rules_sparse_key key_of(const SparseWords& words) {
  rules_sparse_key key;
  std::ranges::copy(words, key.word);
  return key;
}

std::uint32_t right_answer(const Numbered& rules, const SparseWords& key) {
  for (const auto& [number, match] : rules) {
    if (match.matches(key)) return number;
  }
  return RULES_NONE;
}

class SparseRules : public testing::TestWithParam<std::string> {
 protected:
  static void expect_right(TupleRules& table, const Numbered& rules, const std::vector<SparseWords>& keys) {
    conformance::ShaderRun run(GetParam(), table.shader(), table.table());
    std::vector<rules_sparse_key> column;
    column.reserve(keys.size());
    for (const SparseWords& key : keys) column.push_back(key_of(key));
    for (const std::uint32_t batch : conformance::kBatchSizes) {
      std::vector<std::uint64_t> answers(keys.size(), 0x1234567812345678);
      run({column.data()}, {answers.data()}, keys.size(), batch);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        ASSERT_EQ(static_cast<std::uint32_t>(answers[i]), right_answer(rules, keys[i]))
            << "key " << i << ", batches of " << batch;
        ASSERT_EQ(answers[i] >> 32, table.state());
      }
    }
  }
};

TEST_P(SparseRules, EqualALinearSearch) {
  for (const Search search : {Search::tuple, Search::bloom}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      DisjointMatches drawn(sparse_testing::random_fields(seed), 150 * seed, seed);
      NoReaders no_readers;
      TupleRules table(search, TupleRules::Sparse{}, kSeed, no_readers);
      Numbered rules;
      std::set<std::uint32_t> widths;
      for (const SparseMatch& match : drawn.matches()) {
        const auto number = static_cast<std::uint32_t>(rules.size() * 9 + 1);
        table.insert(number, match);
        rules.emplace(number, match);
        widths.insert(UsedWords::of(match.mask).count());
      }
      table.commit();
      EXPECT_GE(*widths.rbegin(), RULES_WORDS + 2U) << "some rules have more words than fit in a record";
      EXPECT_LT(*widths.begin(), *widths.rbegin());
      std::vector<SparseWords> keys(100 / kSanitizerScale);
      std::ranges::generate(keys, [&drawn] { return drawn.key(); });
      expect_right(table, rules, keys);
    }
  }
}

TEST_P(SparseRules, EqualALinearSearchWhileRulesComeAndGo) {
  DisjointMatches drawn(sparse_testing::random_fields(9), 400, 9);
  for (const Search search : {Search::tuple, Search::bloom}) {
    NoReaders no_readers;
    TupleRules table(search, TupleRules::Sparse{}, kSeed, no_readers, 17);  // States soon restart from 0.
    Numbered rules;
    std::uint32_t next = 0;
    for (std::size_t round = 0; round < 60 / kSanitizerScale; ++round) {
      while (rules.size() > 150) {
        table.remove(rules.begin()->first);
        rules.erase(rules.begin());
      }
      for (int i = 0; i < 40; ++i) {
        const SparseMatch& match = drawn.matches()[next % drawn.matches().size()];
        const std::uint32_t number = 1 + next++ % 2000;
        const bool is_known =
            std::ranges::any_of(rules, [&](const auto& rule) { return rule.first == number || rule.second == match; });
        if (is_known) continue;
        table.insert(number, match);
        rules.emplace(number, match);
      }
      table.commit();
      std::vector<SparseWords> keys(20);
      std::ranges::generate(keys, [&drawn] { return drawn.key(); });
      if (round % 10 == 0) expect_right(table, rules, keys);
    }
  }
}

/// Of overlapping rules, the highest rank wins.
TEST_P(SparseRules, WinByRank) {
  for (const Search search : {Search::tuple, Search::bloom}) {
    Random random(21);
    const std::vector<SparseWords> fields = sparse_testing::random_fields(21);
    NoReaders no_readers;
    TupleRules table(search, TupleRules::Sparse{}, kSeed, no_readers);
    SparseWords base;
    std::ranges::generate(base, [&random] { return random.next(); });
    std::vector<std::pair<std::uint64_t, SparseMatch>> rules;  // by number, from 1
    for (std::uint32_t number = 1; number <= 300; ++number) {
      SparseMatch match;
      for (std::uint32_t i = 1 + random.below(3); i > 0; --i) {
        const SparseWords& field = fields[random.below(static_cast<std::uint32_t>(fields.size()))];
        for (std::size_t word = 0; word < field.size(); ++word) match.mask[word] |= field[word];
      }
      for (std::size_t word = 0; word < base.size(); ++word) match.value[word] = base[word] & match.mask[word];
      rules.emplace_back(random.next() | 1, match);
      table.insert(number, match, rules.back().first);
    }
    table.commit();
    std::vector<rules_sparse_key> keys;
    std::vector<std::uint32_t> wanted;
    for (std::size_t i = 0; i < 200 / kSanitizerScale; ++i) {
      SparseWords key = base;
      for (std::uint32_t flips = random.below(200); flips > 0; --flips) {
        key[random.below(RULES_SPARSE_WORDS)] ^= std::uint64_t{1} << random.below(64);
      }
      std::uint64_t best = 0;
      std::uint32_t winner = RULES_NONE;
      for (std::uint32_t number = 1; number <= rules.size(); ++number) {
        const auto& [rank, match] = rules[number - 1];
        if (rank > best && match.matches(key)) {
          best = rank;
          winner = number;
        }
      }
      keys.push_back(key_of(key));
      wanted.push_back(winner);
    }
    EXPECT_GT((std::set<std::uint32_t>(wanted.begin(), wanted.end()).size()), 5U);
    conformance::ShaderRun run(GetParam(), table.shader(), table.table());
    std::vector<std::uint64_t> answers(keys.size());
    run({keys.data()}, {answers.data()}, keys.size(), 64);
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(static_cast<std::uint32_t>(answers[i]), wanted[i]) << i;
  }
}

TEST_P(SparseRules, AMatchOfAllKeysAndOneOfAllBitsAreFound) {
  for (const Search search : {Search::tuple, Search::bloom}) {
    NoReaders no_readers;
    TupleRules table(search, TupleRules::Sparse{}, kSeed, no_readers);
    SparseMatch exact;
    for (std::size_t word = 0; word < exact.mask.size(); ++word) {
      exact.mask[word] = ~std::uint64_t{0};
      exact.value[word] = 0x0123456789ABCDEF * (word + 1);
    }
    table.insert(1, exact);
    table.commit();
    SparseWords other = exact.value;
    other.back() ^= 1;
    expect_right(table, {{1, exact}}, {exact.value, other});
    table.remove(1);
    table.insert(2, SparseMatch{});
    table.commit();
    expect_right(table, {{2, SparseMatch{}}}, {exact.value, other});
  }
}

PENUMBRA_FOR_EACH_ENGINE(SparseRules);

/// A copy of the memory that applies announced changes only has the same answers.
TEST(SparseRulesMirror, SeesEveryChange) {
  DisjointMatches drawn(sparse_testing::random_fields(3), 300, 3);
  NoReaders no_readers;
  TupleRules table(Search::bloom, TupleRules::Sparse{}, kSeed, no_readers);
  CopyingMirror mirror;
  table.table().attach(mirror);
  Numbered rules;
  for (const SparseMatch& match : drawn.matches()) {
    const auto number = static_cast<std::uint32_t>(rules.size() + 1);
    table.insert(number, match);
    rules.emplace(number, match);
    table.commit();
  }
  const auto view = mirror.view<rules_tuple_view>();
  for (int i = 0; i < 500; ++i) {
    const SparseWords key = drawn.key();
    ASSERT_EQ(static_cast<std::uint32_t>(rules_sparse_bloom_find(&view, key.data())), right_answer(rules, key));
  }
  EXPECT_TRUE(mirror.equals_sources());
  table.table().detach(mirror);
}

TEST(UsedWordsOfASubtable, ScatterWhatTheyGather) {
  const UsedWords used = UsedWords::of({0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9});
  EXPECT_EQ(used.count(), 2U);
  const SparseWords key{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  EXPECT_EQ(used.gathered(key), (SparseWords{2, 14}));
  EXPECT_EQ(used.scattered(used.gathered(key)), (SparseWords{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14}));
}

}  // namespace
}  // namespace penumbra
