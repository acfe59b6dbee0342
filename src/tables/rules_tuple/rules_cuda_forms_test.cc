// SPDX-License-Identifier: Apache-2.0
//
// The CUDA forms of tuple and Bloom search, run on host threads and compared with the shaders.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tables/cuda_on_cpu.h"
#include "tables/rules/rules_testing.h"
#include "tables/rules_tuple/prefilter_choice.h"
#include "tables/rules_tuple/rules_bloom.cuda.h"
#include "tables/rules_tuple/rules_tuple.cuda.h"
#include "tables/rules_tuple/tuple_rules.h"

namespace penumbra {
namespace {

using rules_testing::Knobs;
using rules_testing::Rules;

struct Case {
  RuleFields fields;
  std::size_t masks, rules;
  std::uint32_t keys, blocks, threads;
};

/// Random rules, and headers of which many match some rule.
class Drawn {
 public:
  Drawn(const Case& of, TupleRules::Search search)
      : table_(search, of.fields, rules_testing::kSeed, no_readers_), set_(of.fields, no_readers_) {
    Rules drawn({.fields = of.fields, .masks = of.masks, .values = 40, .any_bits = true}, of.masks);
    set_.feed(table_);
    for (std::size_t i = 0; i < of.rules; ++i) {
      const Rule rule = drawn.rule();
      set_.add(rule);
      if (headers_.size() < of.keys) headers_.push_back(drawn.key_of(rule.match));
    }
    set_.commit();
    while (headers_.size() < of.keys) headers_.push_back(drawn.key());
  }

  [[nodiscard]] const rules_tuple_view& view() { return *static_cast<const rules_tuple_view*>(table_.table().view()); }
  [[nodiscard]] const std::vector<RuleWords>& headers() const { return headers_; }

 private:
  NoReaders no_readers_;
  TupleRules table_;
  RuleSet set_;
  std::vector<RuleWords> headers_;
};

class CudaForms : public testing::TestWithParam<Case> {};

template <class Key, auto OneSource, auto CudaForm>
void compare(const rules_tuple_view& view, const std::vector<RuleWords>& headers, const Case& of) {
  std::vector<Key> keys(headers.size());
  for (std::size_t i = 0; i < headers.size(); ++i)
    std::copy_n(headers[i].begin(), std::size(keys[i].word), keys[i].word);
  constexpr std::uint32_t kUntouched = 0xDEADBEEF;
  std::vector<std::uint32_t> right(keys.size()), found(keys.size() + 1, kUntouched);
  OneSource(view, keys.data(), right.data(), static_cast<std::uint32_t>(keys.size()));
  cuda_on_cpu::launch(of.blocks, of.threads,
                      [&] { CudaForm(view, keys.data(), found.data(), static_cast<std::uint32_t>(keys.size())); });
  EXPECT_EQ(found.back(), kUntouched);
  found.pop_back();
  EXPECT_EQ(found, right);
}

/// Compares the prefilter results of groups of subtables, for keys of `kWords` words.
template <std::uint32_t kWords>
void compare_prefilters(const rules_tuple_view& view, const std::vector<RuleWords>& headers) {
  using Tile = RulesBloomTile<kWords>;
  const auto begin = static_cast<std::uint32_t>(*view.list >> 32), count = static_cast<std::uint32_t>(*view.list);
  for (const RuleWords& key : headers) {
    std::vector<std::uint32_t> halves(2 * std::size_t{kWords} * kMostCudaThreads);
    for (std::size_t half = 0; half < std::size_t{2} * kWords; ++half) {
      halves[half * kMostCudaThreads] = static_cast<std::uint32_t>(key[half / 2] >> (32 * (half % 2)));
    }
    for (std::uint32_t at = begin; at < begin + count; at += RULES_TUPLE_GROUP) {
      const std::uint64_t* const group = &view.group[rules_group_row(at, 0, kWords)];
      std::array<typename Tile::Prefilter, RULES_TUPLE_GROUP> prefilters;
      const std::uint64_t* const prefilter = &view.group[rules_group_row(at, kWords + RULES_GROUP_PREFILTER, kWords)];
      std::transform(prefilter, prefilter + RULES_TUPLE_GROUP, prefilters.begin(), Tile::apart);
      EXPECT_EQ(Tile::sift(view, halves.data(), prefilters.data()),
                rules_group_prefilter(view.secret, key.data(), group, kWords, view.filter));
    }
  }
}

/// If a prefilter rejects a key, neither filter nor table is asked, although both have the rule.
TEST(BloomTile, AsksPrefilterFirst) {
  NoReaders no_readers;
  TupleRules table(TupleRules::Search::bloom, RuleFields::ipv4, rules_testing::kSeed, no_readers);
  const rules_narrow_key key{{0x0A000001C0000201, 0x04D2005006000000}};
  table.insert(
      1, {.value = {key.word[0], key.word[1]}, .mask = {~0ULL, ~0ULL}, .source_ports = {}, .destination_ports = {}}, 1);
  table.commit();
  rules_tuple_view view = *static_cast<const rules_tuple_view*>(table.table().view());
  const auto place = static_cast<std::uint32_t>(*view.list >> 32);
  std::vector<std::uint64_t> group(view.group,
                                   view.group + rules_group_row(place + RULES_TUPLE_GROUP, 0, RULES_NARROW_WORDS));
  view.group = group.data();
  const auto ask = [&] {
    std::uint32_t rule = 0;
    cuda_on_cpu::launch(1, 32, [&] { rules_bloom_narrow_tiles(view, &key, &rule, 1); });
    return rule;
  };
  EXPECT_EQ(ask(), 1U);
  constexpr std::uint32_t kEmpty = 512;  // a word that has no bit
  group[rules_group_row(place, RULES_NARROW_WORDS + std::uint32_t{RULES_GROUP_PREFILTER}, RULES_NARROW_WORDS)] =
      describe_prefilter({~0ULL, ~0ULL}, 0, 0, kEmpty);
  EXPECT_EQ(ask(), std::uint32_t{RULES_NONE});
}

TEST_P(CudaForms, OfTupleSearchFindWhatTheOneSourceFinds) {
  Drawn drawn(GetParam(), TupleRules::Search::tuple);
  if (GetParam().fields == RuleFields::ipv4) {
    compare<rules_narrow_key, &rules_tuple_narrow, &rules_tuple::narrow_once_read>(drawn.view(), drawn.headers(),
                                                                                   GetParam());
  } else {
    compare<rules_key, &rules_tuple_wide, &rules_tuple::wide_once_read>(drawn.view(), drawn.headers(), GetParam());
  }
}

TEST_P(CudaForms, OfBloomSearchFindWhatTheOneSourceFinds) {
  Drawn drawn(GetParam(), TupleRules::Search::bloom);
  if (GetParam().fields == RuleFields::ipv4) {
    compare<rules_narrow_key, &rules_bloom_narrow, &rules_bloom_narrow_tiles>(drawn.view(), drawn.headers(),
                                                                              GetParam());
    compare_prefilters<RULES_NARROW_WORDS>(drawn.view(), drawn.headers());
  } else {
    compare<rules_key, &rules_bloom_wide, &rules_bloom_wide_tiles>(drawn.view(), drawn.headers(), GetParam());
    compare_prefilters<RULES_WORDS>(drawn.view(), drawn.headers());
  }
}

// No key, no subtable, one subtable, half a chunk and a whole chunk plus one subtable, several chunks. Filters have one
// word or many. Tiles are full or not, and a block has several tiles or none.
INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaForms,
    testing::Values(Case{RuleFields::ipv4, 1, 3, 0, 1, 32}, Case{RuleFields::ipv4, 1, 3, 5, 2, 64},
                    Case{RuleFields::ipv4, 1, 0, 40, 1, 64}, Case{RuleFields::ipv4, 1, 3, 70, 1, 32},
                    Case{RuleFields::openflow, 1, 2000, 200, 1, 64}, Case{RuleFields::ipv4, 32, 300, 200, 2, 64},
                    Case{RuleFields::openflow, 33, 700, 333, 2, 96}, Case{RuleFields::ipv4, 64, 600, 100, 1, 64},
                    Case{RuleFields::openflow, 65, 800, 333, 2, 96}, Case{RuleFields::ipv6, 70, 90, 64, 1, 64},
                    Case{RuleFields::openflow, 300, 3000, 500, 3, 64}, Case{RuleFields::ipv4, 400, 900, 256, 1, 256}));

}  // namespace
}  // namespace penumbra
