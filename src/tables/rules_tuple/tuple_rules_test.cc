// SPDX-License-Identifier: Apache-2.0
//
// Features of tuple and Bloom search only: subtables, chains of values, filters.
#include "tables/rules_tuple/tuple_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "tables/rules/rules_testing.h"
#include "tables/rules_tuple/prefilter_choice.h"
#include "tables/rules_tuple/rules_bloom.shader.h"

namespace penumbra {
namespace {

using rules_testing::Rules;
using Search = TupleRules::Search;

constexpr std::uint64_t kTupleSeed = 3;

const rules_tuple_view& view_of(TupleRules& table) {
  return *static_cast<const rules_tuple_view*>(table.table().view());
}

std::uint32_t lookup(TupleRules& table, RuleWords key) {
  const rules_narrow_key column{{key[0], key[1]}};
  std::uint32_t rule = 0x12345678;
  const bool is_bloom = table.shader() == "rules_bloom_narrow";
  (is_bloom ? rules_bloom_narrow : rules_tuple_narrow)(view_of(table), &column, &rule, 1);
  return rule;
}

RuleMatch match_of(RuleWords value, RuleWords mask, PortRange destination = {}) {
  return {.value = value, .mask = mask, .source_ports = {}, .destination_ports = destination};
}

TEST(TupleRules, NestRangesInTheirCommonPrefix) {
  NoReaders no_readers;
  TupleRules table(Search::tuple, RuleFields::ipv4, kTupleSeed, no_readers);
  const RuleWords all{~0ULL, 0xFFULL << kProtocolShift};
  std::uint32_t number = 0;
  for (const PortRange range : {PortRange{0x1010, 0x1013}, {0x1015, 0x1016}, {0x1020, 0x1023}, {0x1025, 0x1026}}) {
    ++number;
    table.insert(number, normalised(match_of({7}, all, range), RuleFields::ipv4), number);
  }
  EXPECT_EQ(table.subtables(), 1U) << "all of them have 14 bits of the port in common";
  EXPECT_EQ(table.values(), 4U);
  table.insert(5, match_of({7}, all, {1, 0xFFFF}), 5);
  EXPECT_EQ(table.subtables(), 2U);
  table.insert(6, match_of({7}, all), 6);
  EXPECT_EQ(table.subtables(), 2U);
  EXPECT_EQ(table.values(), 5U);
}

TEST(TupleRules, ForgetClassesWithoutRules) {
  ManualGracePeriods grace_periods;
  TupleRules table(Search::bloom, RuleFields::ipv4, kTupleSeed, grace_periods);
  std::size_t memory = 0;
  std::uint32_t number = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::uint32_t first = number + 1;
    for (std::uint64_t i = 0; i < 200; ++i) {
      ++number;
      table.insert(number, match_of({}, {round << 32 | (i + 1)}), number);
    }
    table.commit();
    EXPECT_EQ(table.subtables(), 200U);
    EXPECT_EQ(lookup(table, {}), number);
    for (std::uint32_t each = first; each <= number; ++each) table.remove(each);
    for (int i = 0; i < 4; ++i) {
      table.commit();
      grace_periods.end_all();
    }
    EXPECT_EQ(table.subtables(), 0U);
    EXPECT_EQ(table.values(), 0U);
    EXPECT_EQ(lookup(table, {}), RULES_NONE);
    // The memory of records grows with each round, because the numbers grow.
    if (round == 1) memory = table.memory_bytes() - number * sizeof(rules_record);
    EXPECT_TRUE(round < 2 || table.memory_bytes() - number * sizeof(rules_record) < memory + std::size_t{number} * 32)
        << round;
  }
}

/// A reader at a record that is unlinked continues from there.
TEST(TupleRules, KeepAnUnlinkedRecordForAnotherGracePeriod) {
  ManualGracePeriods grace_periods;
  TupleRules table(Search::tuple, RuleFields::ipv4, kTupleSeed, grace_periods);
  for (std::uint32_t i = 1; i <= 3; ++i) table.insert(i, RuleMatch{}, i);
  table.commit();
  table.remove(2);
  table.commit();
  const rules_record* const records = view_of(table).record;
  EXPECT_EQ(records[3].next, 2U) << "readers of the state before may want it";
  grace_periods.end_all();
  table.commit();
  EXPECT_EQ(records[3].next, 1U);
  EXPECT_EQ(records[2].next, 1U);
  EXPECT_EQ(grace_periods.waits, 0);
  table.insert(2, RuleMatch{}, 5);
  EXPECT_EQ(grace_periods.waits, 1);
  table.commit();
  EXPECT_EQ(lookup(table, {}), 2U);
}

/// A rule of a subtable wins without lookups in later subtables, also after ranks have changed.
TEST(TupleRules, BoundClassesByTheirBestRules) {
  ManualGracePeriods grace_periods;
  TupleRules table(Search::tuple, RuleFields::ipv4, kTupleSeed, grace_periods);
  const auto bounds = [&] {
    std::vector<std::uint64_t> found;
    const rules_tuple_view& view = view_of(table);
    found.reserve(static_cast<std::uint32_t>(*view.list));
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(*view.list); ++i) {
      found.push_back(view.subtables[(*view.list >> 32) + i].bound);
    }
    return found;
  };
  for (std::uint32_t i = 1; i <= 5; ++i) table.insert(i, match_of({}, {i}), std::uint64_t{10} * i);
  EXPECT_EQ(bounds(), (std::vector<std::uint64_t>{50, 50, 50, 50, 50})) << "in the order in which they came";
  table.commit();
  EXPECT_EQ(bounds(), (std::vector<std::uint64_t>{50, 40, 30, 20, 10}));
  table.remove(5);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bounds()[0], 50U) << "readers of the state before may want it";
    table.commit();
  }
  grace_periods.end_all();
  table.commit();
  EXPECT_EQ(bounds(), (std::vector<std::uint64_t>{40, 30, 20, 10}));
  table.insert(6, match_of({}, {2}), 35);
  EXPECT_EQ(bounds(), (std::vector<std::uint64_t>{40, 35, 35, 10}));
}

/// Returns x with x * a = 1 modulo m. Both must be coprime.
std::uint64_t inverse(std::uint64_t a, std::uint64_t m) {
  __int128 x = 1, y = 0, rest = a % m, modulus = m;
  while (rest != 0) {
    const __int128 times = modulus / rest;
    modulus -= times * rest;
    std::swap(modulus, rest);
    y -= times * x;
    std::swap(x, y);
  }
  return static_cast<std::uint64_t>((y % m + m) % m);
}

/// Returns a value of the subtable at place 1 of the list with the hash of `value`, which is of the subtable at place
/// 0. Both masks have whole words, but the mask at place 1 lacks the lower half of the second word.
std::optional<RuleWords> meeting(const rules_tuple_view& view, const RuleWords& value) {
  constexpr std::uint64_t kWord = std::uint64_t{1} << 32;
  const auto lower = [](std::uint64_t word) { return word & (kWord - 1); };
  const std::uint64_t* const salt = &view.group[rules_group_row(0, 2, 2)];
  std::uint64_t sum = salt[0] - salt[1];  // sum of the products of the value to find
  for (int word = 0; word < 2; ++word) {
    sum += lower(value[word] + view.secret[word]) * lower((value[word] >> 32) + (view.secret[word] >> 32));
  }
  // sum = a b + c d: c is known, a is tried, and d makes the rest a multiple of a.
  const std::uint64_t c = lower(view.secret[1]);
  for (std::uint64_t a = kWord - 1; a > kWord - 1000; a -= 2) {
    if (std::gcd(a, c) != 1) continue;
    const std::uint64_t d = static_cast<std::uint64_t>(static_cast<unsigned __int128>(sum % a) * inverse(c, a) % a);
    if (c * d > sum) continue;
    const std::uint64_t b = (sum - c * d) / a;
    if (b >= kWord) continue;
    return RuleWords{lower(b - (view.secret[0] >> 32)) << 32 | lower(a - view.secret[0]),
                     lower(d - (view.secret[1] >> 32)) << 32};
  }
  return std::nullopt;
}

TEST(TupleRules, TellValuesOfOneDigestApart) {
  for (const Search search : {Search::tuple, Search::bloom}) {
    ManualGracePeriods grace_periods;
    TupleRules table(search, RuleFields::ipv4, kTupleSeed, grace_periods);
    const RuleWords one_mask{~0ULL, ~0ULL}, other_mask{~0ULL, ~0ULL << 32};
    const RuleWords one{0x0A000001C0000201, 0x04D2005006000000};
    table.insert(1, match_of(one, one_mask), 5);
    table.insert(2, match_of({}, other_mask), 4);
    table.commit();
    const auto other = meeting(view_of(table), one);
    ASSERT_TRUE(other);
    const rules_tuple_view& view = view_of(table);
    ASSERT_EQ(rules_tuple_hash_in(&view, 0, one.data(), 2), rules_tuple_hash_in(&view, 1, other->data(), 2));
    const std::size_t values = table.values();
    table.insert(3, match_of(*other, other_mask), 3);
    table.insert(4, match_of(one, one_mask), 2);
    table.commit();
    EXPECT_EQ(table.values(), values) << "they share a chain";
    for (const std::uint32_t right : {1U, 4U, 0U}) {
      EXPECT_EQ(lookup(table, one), right);
      EXPECT_EQ(lookup(table, *other), right == 0 ? 0U : 3U);
      EXPECT_EQ(lookup(table, {other->at(0), other->at(1) ^ 1}), right == 0 ? 0U : 3U);
      EXPECT_EQ(lookup(table, {one[0], one[1] ^ 1}), 0U);
      if (right != 0) table.remove(right);
      if (right == 4) table.remove(3);
      for (int i = 0; i < 3; ++i) {
        table.commit();
        grace_periods.end_all();
      }
    }
    EXPECT_EQ(table.values(), values - 1);
  }
}

/// Tests of answers alone do not detect a prefilter that passes too many keys.
TEST(SubtableFilters, SiftAGroupAsOneByOne) {
  for (const RuleFields fields : {RuleFields::ipv4, RuleFields::openflow}) {
    NoReaders no_readers;
    TupleRules table(Search::bloom, fields, kTupleSeed, no_readers);
    Rules drawn({.fields = fields, .masks = 40, .values = 30, .any_bits = true}, 5);
    for (std::uint32_t number = 1; number <= 500; ++number) {
      table.insert(number, drawn.rule().match, number);
    }
    table.commit();
    const rules_tuple_view& view = view_of(table);
    const auto words = static_cast<std::uint32_t>(words_of(fields));
    const auto begin = static_cast<std::uint32_t>(*view.list >> 32), count = static_cast<std::uint32_t>(*view.list);
    unsigned yes = 0, no = 0;
    for (int i = 0; i < 500; ++i) {
      const RuleWords key = drawn.key();
      for (std::uint32_t at = begin; at < begin + count; at += RULES_TUPLE_GROUP) {
        const std::uint64_t* const group = &view.group[rules_group_row(at, 0, words)];
        std::uint32_t right = 0;
        for (std::uint32_t lane = 0; lane < RULES_TUPLE_GROUP; ++lane) {
          const std::uint64_t prefilter = group[(words + RULES_GROUP_PREFILTER) * RULES_TUPLE_GROUP + lane];
          const std::uint32_t hash = rules_prefilter_hash(view.secret, key.data(), prefilter);
          right |= rules_prefilter_may_have(view.filter, prefilter, hash) << lane;
        }
        EXPECT_EQ(rules_group_prefilter(view.secret, key.data(), group, words, view.filter), right);
        (right != 0 ? yes : no) += 1;
      }
    }
    EXPECT_GT(yes, 0U);
    EXPECT_GT(no, 0U);
  }
}

TEST(SubtableFilters, GiveBackWhatAClassCounted) {
  ManualGracePeriods grace_periods;
  TupleRules table(Search::bloom, RuleFields::ipv4, kTupleSeed, grace_periods);
  constexpr std::uint32_t kRules = 4096;
  Random random(3);
  std::vector<std::size_t> memory;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t number = 1; number <= kRules; ++number) {
      table.insert(number, match_of({random.next(), 0}, {~0ULL, 0}), number);
    }
    table.commit();
    memory.push_back(table.memory_bytes());
    for (std::uint32_t number = 1; number <= kRules; ++number) table.remove(number);
    for (int i = 0; i < 4; ++i) {
      table.commit();
      grace_periods.end_all();
    }
    EXPECT_EQ(table.subtables(), 0U);
    EXPECT_LE(table.memory_bytes(), memory.back() - std::size_t{16} * kRules)
        << "8 bits a rule in two filters, a byte for each";
  }
  EXPECT_EQ(memory[2], memory[1]);
}

/// A subtable with nearly all rules gets more bits when the number of subtables grows, by changes of single rules.
TEST(SubtableFilters, GrowFinerInALargeClassTooWhenOthersCome) {
  ManualGracePeriods grace_periods;
  TupleRules table(Search::bloom, RuleFields::ipv4, kTupleSeed, grace_periods);
  constexpr std::uint32_t kRules = 4000, kClasses = 20;
  Random random(3);
  for (std::uint32_t number = 1; number <= kRules; ++number) {
    table.insert(number, match_of({random.next(), 0}, {~0ULL, 0}), number);
  }
  table.commit();
  const auto words_of_the_large_one = [&] {
    const rules_tuple_view& view = view_of(table);
    const auto place = static_cast<std::uint32_t>(*view.list >> 32);
    return rules_bloom_words(view.group[rules_group_row(place, 2 + RULES_GROUP_FILTER, 2) + place % RULES_TUPLE_GROUP]);
  };
  EXPECT_EQ(words_of_the_large_one(), 512U) << "8 bits a rule";
  for (std::uint32_t i = 1; i < kClasses; ++i) table.insert(kRules + i, match_of({}, {1ULL << i, 0}), 1);
  for (std::uint32_t i = 0; i < 2000 && words_of_the_large_one() == 512; ++i) {
    table.remove(kRules + 1);
    table.commit();
    grace_periods.end_all();
    table.commit();
    table.insert(kRules + 1, match_of({}, {2, 0}), 1);
    table.commit();
    grace_periods.end_all();
  }
  EXPECT_EQ(words_of_the_large_one(), 1024U) << "16 bits a rule";
}

/// Eight random prefilters at a time, of all sizes and at all places in few words.
TEST(SubtableFilters, SiftRandomGroupsAsOneByOne) {
  constexpr std::uint32_t kBits = 13;
  Random random(7);
  std::vector<std::uint64_t> filters(std::size_t{1} << kBits);
  std::ranges::generate(filters, [&random] { return random.next() | random.next() | random.next(); });
  const std::array<std::uint64_t, RULES_WORDS> secret{random.next() | 1};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t words = i % 2 == 0 ? RULES_WORDS : RULES_NARROW_WORDS;
    RuleWords key{};
    std::ranges::generate(key, [&random] { return random.next(); });
    std::vector<std::uint64_t> group(rules_group_row(RULES_TUPLE_GROUP, 0, words));
    std::uint32_t right = 0;
    for (std::uint32_t lane = 0; lane < RULES_TUPLE_GROUP; ++lane) {
      const SparseWords mask{random.next(), random.next(), random.next(), random.next(), random.next()};
      const std::uint32_t bits = random.below(kBits);
      const std::uint32_t begin = random.below((1U << kBits) - (1U << bits)) & ~1U;
      const std::uint64_t prefilter =
          random.below(8) == 0 ? 0 : describe_prefilter(mask, random.below(2 * words), bits, begin);
      group[rules_group_row(0, words + RULES_GROUP_PREFILTER, words) + lane] = prefilter;
      const std::uint32_t hash = rules_prefilter_hash(secret.data(), key.data(), prefilter);
      right |= rules_prefilter_may_have(filters.data(), prefilter, hash) << lane;
    }
    ASSERT_EQ(rules_group_prefilter(secret.data(), key.data(), group.data(), words, filters.data()), right);
  }
}

/// If the prefilter or filter of a subtable rejects a key, the table is not asked, although it has the rule.
TEST(SubtableFilters, AreAskedBeforeTheTable) {
  NoReaders no_readers;
  TupleRules table(Search::bloom, RuleFields::ipv4, kTupleSeed, no_readers);
  const RuleWords value{0x0A000001C0000201, 0x04D2005006000000};
  table.insert(1, match_of(value, {~0ULL, ~0ULL}), 1);
  table.commit();
  ASSERT_EQ(lookup(table, value), 1U);
  const rules_tuple_view& real = view_of(table);
  rules_tuple_view view = real;
  const auto place = static_cast<std::uint32_t>(*view.list >> 32);
  constexpr std::uint32_t kEmpty = 512;  // a word without bits
  struct Case {
    std::uint32_t row;
    std::uint64_t word_of_nothing;
  };
  for (const auto& [row, word_of_nothing] :
       {Case{RULES_GROUP_FILTER, std::uint64_t{kEmpty} << RULES_BLOOM_BEGIN | 1},
        Case{RULES_GROUP_PREFILTER, describe_prefilter({~0ULL, ~0ULL}, 0, 0, kEmpty)}}) {
    std::vector<std::uint64_t> group(real.group,
                                     real.group + rules_group_row(place + RULES_TUPLE_GROUP, 0, RULES_NARROW_WORDS));
    const auto ask = [&] {
      view.group = group.data();
      const rules_narrow_key column{{value[0], value[1]}};
      std::uint32_t rule = 0x12345678;
      rules_bloom_narrow(view, &column, &rule, 1);
      return rule;
    };
    EXPECT_EQ(ask(), 1U);
    group[rules_group_row(place, RULES_NARROW_WORDS + row, RULES_NARROW_WORDS) + place % RULES_TUPLE_GROUP] =
        word_of_nothing;
    EXPECT_EQ(ask(), std::uint32_t{RULES_NONE});
  }
}

/// Rules of two subtables have the same value in all halves but one. Both masks have equally many bits of that half,
/// and a header of one subtable never has a value of the second there. Then a subtable of a single rule has fewer mask
/// bits in that half.
TEST(SubtableFilters, PrefilterByTheHalfThatTellsRulesApart) {
  for (const std::uint32_t telling : {0U, 1U, 4U, 7U, 8U, 9U}) {
    NoReaders no_readers;
    TupleRules table(Search::bloom, RuleFields::openflow, kTupleSeed, no_readers);
    const unsigned shift = 32 * (telling % 2);
    RuleWords mask{}, value{};
    for (std::size_t word = 0; word < mask.size(); ++word) {
      mask[word] = 0x0FFFFFFF0FFFFFFF;
      value[word] = 0x0BADCAFE0BADCAFE & mask[word];
    }
    RuleWords other_mask = mask, third_mask = mask;
    other_mask[telling / 2] ^= std::uint64_t{1} << shift;
    third_mask[telling / 2] ^= std::uint64_t{0xF} << shift;
    constexpr std::uint32_t kRules = 2001;
    Random random(telling);
    for (std::uint32_t number = 1; number <= kRules; ++number) {
      const RuleWords& own_mask = number == kRules ? third_mask : number % 2 == 0 ? mask : other_mask;
      value[telling / 2] &= ~(0xFFFFFFFFULL << shift);
      value[telling / 2] |= (random.next() >> 32) << shift & own_mask[telling / 2];
      table.insert(number, match_of(value, own_mask), number);
    }
    table.commit();
    const rules_tuple_view& view = view_of(table);
    const auto begin = static_cast<std::uint32_t>(*view.list >> 32);
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      EXPECT_EQ(rules_prefilter_half(
                    view.group[rules_group_row(begin, RULES_WORDS + std::uint32_t{RULES_GROUP_PREFILTER}, RULES_WORDS) +
                               lane]),
                telling);
    }
  }
}

/// The rates are those of subtable_filters.h. Removing the rules clears all bits.
TEST(SubtableFilters, LetThroughAsFewAsTheirSizesSay) {
  struct Case {
    std::size_t subtables, rules_a_class;  ///< the number that a filter takes before it doubles
    double most, most_of_prefilters;
  };
  for (const auto& [subtables, rules_a_class, most, most_of_prefilters] :
       {Case{1, 32'768, 0.033, 0.057}, Case{4, 32'768, 0.033, 0.057}, Case{100, 1024, 0.0053, 0.0194},
        Case{1000, 128, 0.00086, 0.0069}}) {
    ManualGracePeriods grace_periods;
    TupleRules table(Search::bloom, RuleFields::ipv4, kTupleSeed, grace_periods);
    Random random(1);
    const std::size_t rules = subtables * rules_a_class / kSanitizerScale;
    for (std::uint32_t number = 1; number <= rules; ++number) {
      const RuleWords mask{~0ULL << random.below(16), number % subtables};
      table.insert(number, match_of({random.next() & mask[0]}, {~0ULL, number % subtables}), number);
    }
    for (int i = 0; i < 3; ++i) {
      table.commit();
      grace_periods.end_all();
    }
    const rules_tuple_view& view = view_of(table);
    const auto of_keys = [&](auto is_open) {
      std::size_t count = 0;
      for (int i = 0; i < 2000; ++i) {
        const RuleWords key{random.next(), random.next()};
        for (std::uint32_t at = 0; at < subtables; ++at) {
          count += is_open(static_cast<std::uint32_t>(*view.list >> 32) + at, key);
        }
      }
      return static_cast<double>(count) / 2000 / static_cast<double>(subtables);
    };
    const auto passed = [&] {
      return of_keys(
          [&](std::uint32_t place, const RuleWords& key) { return rules_bloom_is_open(&view, place, key.data(), 2); });
    };
    const auto sifted = [&] {
      return of_keys([&](std::uint32_t place, const RuleWords& key) {
        const std::uint64_t prefilter =
            view.group[rules_group_row(place, 2 + RULES_GROUP_PREFILTER, 2) + place % RULES_TUPLE_GROUP];
        return rules_prefilter_may_have(view.filter, prefilter,
                                        rules_prefilter_hash(view.secret, key.data(), prefilter));
      });
    };
    EXPECT_LT(passed(), most * 1.2) << subtables << " subtables";
    EXPECT_LT(sifted(), most_of_prefilters * 1.2) << subtables << " subtables";
    for (std::uint32_t number = 2; number <= rules; ++number) table.remove(number);
    table.commit();
    EXPECT_GT(passed(), 0) << "readers of the state before may want them";
    EXPECT_GT(sifted(), 0) << "readers of the state before may want them";
    grace_periods.end_all();
    table.commit();
    EXPECT_LT(passed(), most / 50) << "one rule is left";
    EXPECT_LT(sifted(), most_of_prefilters / 50) << "one rule is left";
  }
}

}  // namespace
}  // namespace penumbra
