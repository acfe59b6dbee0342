// SPDX-License-Identifier: Apache-2.0
//
// The subtables of rules by their masks, and the list of subtables that readers search (rules_tuple.shader.h).
//
// The list is in one half of its arrays. A sorted list is written to the unused half when no reader can be there any
// more. Appending a subtable and raising a bound happen in place. If a half is full, larger arrays replace the arrays,
// and the owner must publish them.
//
// A bound may be too high, but never too low. A new rule raises it. Only writing the list again lowers it, to the best
// rank of the linked rules. Linked rules include removed rules that readers of older states may still need.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules_tuple/rules_tuple.shader.h"
#include "tables/rules_tuple/sparse_match.h"

namespace penumbra {

/// The host's data of a subtable.
struct Subtable {
  UsedWords used;
  SparseWords mask{};  ///< of the used words
  std::uint32_t number = 0;
  std::uint32_t place = 0;  ///< in the arrays
  std::uint64_t salt = 0;
  std::uint64_t best = 0;            ///< no rule of the subtable has a higher rank
  bool best_has_gone = false;        ///< true if all its rules have lower ranks
  std::uint32_t rules = 0;           ///< number of linked rules
  std::uint32_t first = RULES_NONE;  ///< first of the list of linked rules
  std::uint64_t filter = 0;          ///< its Bloom filter as readers see it, 0: none
  std::uint64_t prefilter = 0;       ///< likewise; 0 passes every key
  std::uint32_t bits_per_rule = 0;   ///< minimum for which the filters were made
  std::vector<std::uint8_t> counts;  ///< number of rules that set each bit of the filters
};

class SubtableList {
 public:
  /// Number of regions of a view that append_regions() adds, in the order of Offsets.
  static constexpr std::size_t kRegions = 3;
  struct Offsets {
    std::size_t list = 0, subtables = 0, group = 0;
  };
  /// The memory that readers see.
  struct Arrays {
    HugeArray<std::uint64_t> list;  ///< the first word counts; a line of its own
    HugeArray<rules_subtable> subtables;
    HugeArray<std::uint64_t> groups;  ///< of the same subtables (subtable_group.h)
    std::size_t half = 0;             ///< capacity of a half in subtables; a multiple of the groups of either search
  };

  /// `words` is the number of words of a key. Subtables of a sparse list use the words that their masks have.
  SubtableList(std::size_t words, bool is_sparse, std::uint64_t seed, GracePeriods& grace_periods);

  /// Appends the kRegions regions for publication in `table`.
  void append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions);
  const Arrays& arrays() const { return arrays_; }

  /// Returns the subtable of the mask of a key, or null.
  Subtable* find(const SparseWords& mask);
  Subtable& operator[](std::uint32_t number) { return *subtables_[number]; }
  bool is_full() const { return size_ == arrays_.half; }
  /// Switches to larger arrays, which the caller must publish. Returns the old arrays, which readers may still use.
  Arrays grow();
  /// Appends a subtable for the mask of a key. The list must not be full.
  Subtable& append(const SparseWords& mask);
  /// Raises bounds for a rule of this rank, which the subtable has from the next state on.
  void raise(Subtable& of, std::uint64_t rank);
  /// Notes that the rule of this rank was unlinked.
  void lower(Subtable& of, std::uint64_t rank);
  void set_filters(Subtable& of, std::uint64_t filter, std::uint64_t prefilter);

  /// Returns true if sorting would improve the list and need not wait.
  bool can_be_sorted();
  /// Writes a sorted list without the subtables that have no rules. Calls drop(subtable) for each of those.
  template <class Drop>
  void sort(Drop drop);
  template <class Visit>
  void for_each(Visit visit);

  /// Announces the changes to mirrors.
  void announce() {
    class_changes_.flush(*table_);
    group_changes_.flush(*table_);
  }

  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const;

 private:
  struct Hash {
    std::size_t operator()(const SparseWords& mask) const;
  };

  Arrays make_arrays(std::size_t half) const;
  std::uint32_t begin() const { return in_second_half_ ? static_cast<std::uint32_t>(arrays_.half) : 0; }
  void write(const std::vector<Subtable*>& order);
  void write_subtable(Subtable& of, std::uint32_t place, std::uint64_t bound);
  /// Writes a word of the row of a class.
  void write_word(std::uint32_t place, std::size_t row, std::uint64_t word);
  void set_list();
  void drop_subtable(Subtable& of);

  const std::size_t words_;
  const bool is_sparse_;
  const std::size_t rows_;  ///< rows of a group before RULES_GROUP_SALT
  GracePeriods& grace_periods_;
  Random random_;
  Arrays arrays_;
  bool in_second_half_ = false;
  std::size_t size_ = 0;  ///< of the list
  std::uint64_t period_ = 0;
  bool other_half_is_read_ = false;  ///< true until the grace period `period_` has elapsed
  bool can_be_better_ = false;
  std::vector<std::unique_ptr<Subtable>> subtables_;  ///< by number; null: unused
  std::vector<std::uint32_t> free_numbers_, dropped_numbers_;
  std::unordered_map<SparseWords, Subtable*, Hash> by_mask_;
  Table* table_ = nullptr;
  std::size_t first_region_ = 0;
  TableChanges<rules_subtable> class_changes_{0};
  TableChanges<std::uint64_t> group_changes_{0};
};

template <class Visit>
void SubtableList::for_each(Visit visit) {
  for (const auto& each : subtables_) {
    if (each != nullptr) visit(*each);
  }
}

template <class Drop>
void SubtableList::sort(Drop drop) {
  std::vector<Subtable*> order;
  std::vector<Subtable*> empty;
  for (const auto& each : subtables_) {
    if (each != nullptr) (each->rules == 0 ? empty : order).push_back(each.get());
  }
  write(order);
  for (Subtable* each : empty) {
    drop(*each);
    drop_subtable(*each);
  }
}

}  // namespace penumbra
