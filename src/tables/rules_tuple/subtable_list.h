// SPDX-License-Identifier: Apache-2.0
//
// The subtables of rules, by their masks, and the list of them that readers go through (rules_tuple.shader.h).
//
// The list stands in one half of its arrays; sorted anew, it is written to the other half, once nobody can be reading
// there any more. A class is appended, and a bound raised, in place. When a half is full the arrays are exchanged for
// larger ones, which have to be published.
//
// A bound may be too high, never too low: it is raised with a rule, and lowered only in a list that is written anew, by
// what is linked then (with rules that were taken out and that readers of older states may still want).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "penumbra/huge_memory.h"
#include "penumbra/rule.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules_tuple/rules_tuple.shader.h"

namespace penumbra {

/// What the host knows of a class.
struct Subtable {
  RuleWords mask{};
  std::uint32_t number = 0;
  std::uint32_t place = 0;  ///< in the arrays
  std::uint64_t salt = 0;
  std::uint64_t best = 0;            ///< no rule of it ranks higher
  bool best_has_gone = false;        ///< all of them rank lower
  std::uint32_t rules = 0;           ///< that are linked
  std::uint32_t first = RULES_NONE;  ///< of a list of these
  std::uint64_t filter = 0;          ///< its Bloom filter as readers see it, 0: none
  std::uint64_t prefilter = 0;       ///< likewise; 0 lets everything through
  std::uint32_t bits_per_rule = 0;   ///< that these were made for
  std::vector<std::uint8_t> counts;  ///< how many rules have each of their bits
};

class SubtableList {
 public:
  /// Regions of a view, in this order.
  static constexpr std::size_t kRegions = 3;
  struct Offsets {
    std::size_t list = 0, subtables = 0, group = 0;
  };
  /// What readers see.
  struct Arrays {
    HugeArray<std::uint64_t> list;  ///< the first word counts; a line of its own
    HugeArray<rules_subtable> subtables;
    HugeArray<std::uint64_t> groups;  ///< of the same subtables (subtable_group.h)
    std::size_t half = 0;             ///< subtables that one half has place for, in whole groups of either search
  };

  SubtableList(std::size_t words, std::uint64_t seed, GracePeriods& grace_periods);

  /// They are regions `regions.size()` and following of this table from now on.
  void append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions);
  const Arrays& arrays() const { return arrays_; }

  /// The class of a mask; null if there is none.
  Subtable* find(const RuleWords& mask);
  Subtable& operator[](std::uint32_t number) { return *subtables_[number]; }
  bool is_full() const { return size_ == arrays_.half; }
  /// Goes over to larger arrays, which are to be published, and returns those before, for whom may be reading them.
  Arrays grow();
  /// Appends a class; the list is not full.
  Subtable& append(const RuleWords& mask);
  /// The class has a rule of that rank from the next state on.
  void raise(Subtable& of, std::uint64_t rank);
  /// The rule of that rank is unlinked.
  void lower(Subtable& of, std::uint64_t rank);
  void set_filters(Subtable& of, std::uint64_t filter, std::uint64_t prefilter);

  /// Whether sorting would make it better, and can be done without waiting.
  bool can_be_sorted();
  /// Writes the list anew, without the subtables that have no rules: drop(class) is called for each.
  template <class Drop>
  void sort(Drop drop);
  template <class Visit>
  void for_each(Visit visit);

  /// Tells mirrors what has changed.
  void announce() {
    class_changes_.flush(*table_);
    group_changes_.flush(*table_);
  }

  std::size_t size() const { return size_; }
  std::size_t memory_bytes() const;

 private:
  struct Hash {
    std::size_t operator()(const RuleWords& mask) const;
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
  GracePeriods& grace_periods_;
  Random random_;
  Arrays arrays_;
  bool in_second_half_ = false;
  std::size_t size_ = 0;  ///< of the list
  std::uint64_t period_ = 0;
  bool other_half_is_read_ = false;  ///< perhaps, until that grace period is over
  bool can_be_better_ = false;
  std::vector<std::unique_ptr<Subtable>> subtables_;  ///< by number; null: none has it
  std::vector<std::uint32_t> free_numbers_, dropped_numbers_;
  std::unordered_map<RuleWords, Subtable*, Hash> by_mask_;
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
