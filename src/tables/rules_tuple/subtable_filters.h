// SPDX-License-Identifier: Apache-2.0
//
// The Bloom filters of subtables and their prefilters (rules_bloom.shader.h): words that readers ask, and counts on the
// host of how many rules have each bit, so that a rule's bits can be taken out with it.
//
// How large: what a filter lets through although the class has it not costs a look-up in the table, so the more
// subtables are asked the fewer of them may say so. With n rules on W words, 64 W / n bits a rule, a word has n / W
// rules on average, Poisson distributed, and says yes wrongly with the mean of (1 - (1 - 1/32)^(2 i))^4 over their
// number i. A filter doubles when it has less than the bits a rule below, so it has up to twice as many:
//
//   up to 16 subtables     8 bits a rule:  3.3% at worst, 0.53% with twice the bits
//   up to 256 subtables   16 bits a rule:  0.53%, 0.086%
//   more                32 bits a rule:  0.086%, 0.016%
//
// So of 16 subtables less than one says yes wrongly, of 256 about one at worst, and of 4096 three. That is so up to
// 2^12 words, 32,768 rules of 8 bits: in larger filters the word is chosen by bits of the hash that choose bits too,
// and says yes wrongly up to twice as often with 8 bits a rule, four times with 32.
//
// A class's prefilter is as large as its filter, which lies behind it. If the half of a word that it takes tells all
// rules apart, its own error is the mean of (1 - (1 - 1/32)^(2 i))^2 with half as many rules a half of a
// word: 5.7%, 1.9% and 0.69% with 8, 16 and 32 bits a rule at worst, and with twice the bits what stands next to it, or
// 0.27%.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules/grace_list.h"
#include "tables/rules_tuple/header_sample.h"
#include "tables/rules_tuple/prefilter_choice.h"
#include "tables/rules_tuple/rules_bloom.shader.h"
#include "tables/rules_tuple/subtable_list.h"

namespace penumbra {

class SubtableFilters {
 public:
  /// How many bits a rule has at least, among so many subtables.
  static std::uint32_t bits_per_rule_for(std::size_t subtables);

  /// Keys have so many words; `secrets` are the view's. A rule has `bits_per_rule` bits at least, if that is given,
  /// however many subtables there are.
  SubtableFilters(SubtableList& subtables, std::size_t words, const std::array<std::uint64_t, RULES_WORDS>& secrets,
                  GracePeriods& grace_periods, std::optional<std::uint32_t> bits_per_rule = {});

  /// It is region `regions.size()` of this table from now on.
  void append_region(Table& table, std::size_t offset, std::vector<TableRegion>& regions);
  const std::uint64_t* words() const { return words_.data(); }

  /// Whether the class has to be given a filter before it takes one rule more.
  bool has_to_grow(const Subtable& of) const;
  /// Whether its filter lets more through than one that were made now.
  bool is_coarse(const Subtable& of) const;
  /// Whether the region has grown so that it holds a new filter of the class and its prefilter: then it is to be
  /// published before make().
  bool make_room(const Subtable& of);
  /// Gives a class another filter and prefilter, with the values of its rules: for_each_value(take) calls take(value)
  /// for the words of each. `coming`, if there is one, is the value of a rule that is about to be added. If there is no
  /// place for them the class has none, and everything may be there.
  template <class ForEachValue>
  void make(Subtable& of, const std::uint64_t* coming, ForEachValue for_each_value);
  /// A rule, by the words of its value.
  void add(Subtable& of, const std::uint64_t* value);
  void remove(Subtable& of, const std::uint64_t* value);
  /// A class that is going.
  void drop(Subtable& of);

  /// Takes back what nobody can be reading any more.
  void reclaim();
  /// Tells mirrors what has changed.
  void announce() { changes_.flush(*table_); }
  std::size_t memory_bytes() const { return end_ * sizeof(std::uint64_t) + counts_; }

 private:
  struct Run {
    std::uint32_t begin = 0;
    unsigned bits = 0;  ///< 2^bits words
  };

  /// Of a class's prefilter and filter, which are the halves of it.
  static Run run_of(std::uint64_t prefilter);
  static std::uint64_t describe_filter(Run run);
  std::uint32_t bits_per_rule() const {
    return bits_per_rule_ ? *bits_per_rule_ : bits_per_rule_for(subtables_.size());
  }
  /// Of a new run, for one rule more than the class has.
  unsigned bits_for(const Subtable& of) const;
  /// A run of words of zero; whose `begin` is 0 if there is no place.
  Run take(unsigned bits);
  void replace(Subtable& of, std::uint64_t filter, std::uint64_t prefilter, std::uint32_t bits_per_rule,
               std::vector<std::uint8_t> counts);
  /// Calls visit(word, bit) for each bit of a value.
  template <class Visit>
  void for_each_bit(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter, const std::uint64_t* value,
                    Visit visit) const;
  void count(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter, std::vector<std::uint8_t>& counts,
             const std::uint64_t* value);
  void write(std::uint64_t word, std::uint64_t bits);

  SubtableList& subtables_;
  const std::size_t key_words_;
  const std::array<std::uint64_t, RULES_WORDS> secrets_;
  HeaderSample sample_;
  const std::optional<std::uint32_t> bits_per_rule_;
  HugeArray<std::uint64_t> words_;                   ///< the first is of subtables without a filter: all bits
  std::uint32_t end_ = 2;                            ///< words from here on were never used
  std::size_t counts_ = 0;                           ///< bytes that the subtables' counts take
  std::uint32_t room_;                               ///< that are in the region
  std::array<std::vector<std::uint32_t>, 32> free_;  ///< runs, by their bits
  GraceList<Run> old_;
  Table* table_ = nullptr;
  TableChanges<std::uint64_t> changes_{0};
};

template <class ForEachValue>
void SubtableFilters::make(Subtable& of, const std::uint64_t* coming, ForEachValue for_each_value) {
  const Run run = take(bits_for(of));
  if (run.begin == 0) return replace(of, 0, 0, 0, {});
  const unsigned bits = run.bits - 1;
  const std::uint32_t half =
      choose_half(of.mask, key_words_, bits, secrets_.data(), sample_.headers(), [&](auto take_value) {
        if (coming != nullptr) take_value(coming);
        for_each_value(take_value);
      });
  const std::uint64_t filter = describe_filter(run), prefilter = describe_prefilter(of.mask, half, bits, run.begin);
  std::vector<std::uint8_t> counts(std::size_t{64} << run.bits);
  for_each_value([&](const std::uint64_t* value) { count(of, filter, prefilter, counts, value); });
  replace(of, filter, prefilter, bits_per_rule(), std::move(counts));
}

}  // namespace penumbra
