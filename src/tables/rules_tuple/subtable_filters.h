// SPDX-License-Identifier: Apache-2.0
//
// The Bloom filters of subtables and their prefilters (rules_bloom.shader.h). Readers ask the words. Counts on the host
// tell how many rules have set each bit, so that removing a rule can clear its bits.
//
// A false positive of a filter costs a lookup in the table, so more subtables need lower rates. A filter of n rules has
// W words, which are 64 W / n bits per rule. The number i of rules in a word is Poisson distributed with mean n / W.
// The false positive rate is the mean of (1 - (1 - 1/32)^(2 i))^4 over i. A filter doubles when it has fewer bits per
// rule than below, so it has up to twice as many:
//
//   up to 16 subtables     8 bits per rule:  3.3% at worst, 0.53% with twice the bits
//   up to 256 subtables   16 bits per rule:  0.53%, 0.086%
//   more                  32 bits per rule:  0.086%, 0.016%
//
// On average, fewer than one of 16 subtables gives a false positive, at worst about one of 256, and three of 4096. The
// rates hold up to 2^12 words, which is 32,768 rules of 8 bits. In larger filters, the hash bits that choose the word
// overlap those that choose the bits. The rate is then up to twice as high with 8 bits per rule, and four times with
// 32.
//
// The prefilter of a subtable has the size of its filter and precedes the filter in memory. If its half of a word
// separates all rules, its own rate is the mean of (1 - (1 - 1/32)^(2 i))^2. Here, i has half the mean. At worst, the
// rate is 5.7%, 1.9% and 0.69% with 8, 16 and 32 bits per rule. With twice the bits it is 1.9%, 0.69% and 0.27%.
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
  /// Returns the minimum number of bits per rule among `subtables` subtables.
  static std::uint32_t bits_per_rule_for(std::size_t subtables);

  /// `words` is the number of words of a key, and `secrets` are those of the view. `bits_per_rule` overrides the
  /// minimum number of bits per rule.
  SubtableFilters(SubtableList& subtables, std::size_t words, const SparseWords& secrets, GracePeriods& grace_periods,
                  std::optional<std::uint32_t> bits_per_rule = {});

  /// Appends the filters as a region for publication in `table`.
  void append_region(Table& table, std::size_t offset, std::vector<TableRegion>& regions);
  const std::uint64_t* words() const { return words_.data(); }

  /// Returns true if the subtable needs a new filter before it takes one more rule.
  bool has_to_grow(const Subtable& of) const;
  /// Returns true if a new filter would have fewer false positives.
  bool is_coarse(const Subtable& of) const;
  /// Returns true if the region grew to hold a new filter and prefilter of the subtable. The caller then publishes it
  /// before make().
  bool make_room(const Subtable& of);
  /// Makes a new filter and prefilter of a subtable from the values of its rules. for_each_value(take) calls
  /// take(value) for each value. `coming` is null or the value of a rule that will be added next. A value has the words
  /// that the subtable uses. If
  /// memory is exhausted, the subtable has no filter, and every key passes.
  template <class ForEachValue>
  void make(Subtable& of, const SparseWords* coming, ForEachValue for_each_value);
  /// Add and remove a rule, given its value.
  void add(Subtable& of, const SparseWords& value);
  void remove(Subtable& of, const SparseWords& value);
  /// Frees the filters of a subtable that is removed.
  void drop(Subtable& of);

  /// Frees filters that no reader uses any more.
  void reclaim();
  /// Announces the changes to mirrors.
  void announce() { changes_.flush(*table_); }
  std::size_t memory_bytes() const { return end_ * sizeof(std::uint64_t) + counts_; }

 private:
  struct Run {
    std::uint32_t begin = 0;
    unsigned bits = 0;  ///< 2^bits words
  };

  /// Returns the run of a subtable's prefilter and filter, which are its halves.
  static Run run_of(std::uint64_t prefilter);
  static std::uint64_t describe_filter(Run run);
  std::uint32_t bits_per_rule() const {
    return bits_per_rule_ ? *bits_per_rule_ : bits_per_rule_for(subtables_.size());
  }
  /// Returns the words of the sampled headers that the subtable uses.
  std::vector<SparseWords> headers_of(const Subtable& of) const;
  /// Returns the bits of a new run for one more rule than the subtable has.
  unsigned bits_for(const Subtable& of) const;
  /// Returns a run of zero words; `begin` is 0 if memory is exhausted.
  Run take(unsigned bits);
  void replace(Subtable& of, std::uint64_t filter, std::uint64_t prefilter, std::uint32_t bits_per_rule,
               std::vector<std::uint8_t> counts);
  /// Calls visit(word, bit) for each bit of a value.
  template <class Visit>
  void for_each_bit(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter, const SparseWords& value,
                    Visit visit) const;
  void count(const Subtable& of, std::uint64_t filter, std::uint64_t prefilter, std::vector<std::uint8_t>& counts,
             const SparseWords& value);
  void write(std::uint64_t word, std::uint64_t bits);

  SubtableList& subtables_;
  const SparseWords secrets_;
  HeaderSample sample_;
  const std::optional<std::uint32_t> bits_per_rule_;
  HugeArray<std::uint64_t> words_;  ///< element 0 serves subtables without a filter and has all bits set
  std::uint32_t end_ = 2;           ///< words from here on were never used
  std::size_t counts_ = 0;          ///< bytes of all subtables' counts
  std::uint32_t room_;              ///< number of words in the region
  std::array<std::vector<std::uint32_t>, 32> free_;  ///< free runs by their bits
  GraceList<Run> old_;
  Table* table_ = nullptr;
  TableChanges<std::uint64_t> changes_{0};
};

template <class ForEachValue>
void SubtableFilters::make(Subtable& of, const SparseWords* coming, ForEachValue for_each_value) {
  const Run run = take(bits_for(of));
  if (run.begin == 0) return replace(of, 0, 0, 0, {});
  const unsigned bits = run.bits - 1;
  const std::uint32_t half =
      choose_half(of.mask, of.used.count(), bits, secrets_.data(), headers_of(of), [&](auto take_value) {
        if (coming != nullptr) take_value(*coming);
        for_each_value(take_value);
      });
  const std::uint64_t filter = describe_filter(run), prefilter = describe_prefilter(of.mask, half, bits, run.begin);
  std::vector<std::uint8_t> counts(std::size_t{64} << run.bits);
  for_each_value([&](const SparseWords& value) { count(of, filter, prefilter, counts, value); });
  replace(of, filter, prefilter, bits_per_rule(), std::move(counts));
}

}  // namespace penumbra
