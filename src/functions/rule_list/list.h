// SPDX-License-Identifier: Apache-2.0
//
// A list of rules in force, the first of which that matches decides: its entries in order, and the structure that is
// searched. An entry is whatever has a `match` (RuleMatch, normalised) and says by is_like() whether another one does
// the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "penumbra/table.h"
#include "shaders/rules/rule_set.h"
#include "shaders/rules/rule_structures.h"
#include "shaders/rules/rule_table.h"

namespace penumbra::rule_list {

/// What becomes of a list when another one takes its place.
struct Changes {
  std::vector<std::uint32_t> kept;  ///< of each new entry, the old one's place that goes on as it, from 1; 0: none does
  std::size_t added = 0;
  std::size_t removed = 0;
};

std::uint64_t hash_of(const RuleMatch& match);

/// Of entries that are `like` others (their places, from 1; 0: like none) those go on that stand in the same order in
/// both lists: of these as many as there can be.
Changes keep_most(std::span<const std::uint32_t> like, std::size_t before);

/// Ranks, falling, of a list after these changes: those that go on keep theirs, the others' lie evenly between these.
/// None, if there is no room for them somewhere.
std::vector<std::uint64_t> ranks_after(const Changes& changes, std::span<const std::uint64_t> before);

/// Entries that do the same and stand in the same order in both go on: of these as many as there can be.
template <class Entry>
Changes compare(std::span<const Entry> before, std::span<const Entry> after) {
  std::unordered_multimap<std::uint64_t, std::uint32_t> places;
  for (std::size_t i = before.size(); i-- > 0;) {
    places.emplace(hash_of(before[i].match), static_cast<std::uint32_t>(i + 1));
  }
  std::vector<std::uint32_t> like(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    auto [first, last] = places.equal_range(hash_of(after[i].match));
    auto least = last;  // of several that are alike the first one that is left
    for (; first != last; ++first) {
      const bool is_less = least == last || first->second < least->second;
      if (is_less && before[first->second - 1].is_like(after[i])) least = first;
    }
    if (least == last) continue;
    like[i] = least->second;
    places.erase(least);
  }
  return keep_most(like, before.size());
}

/// Entries that decide in their order. One thread changes and asks it; lookups on any thread go through table() and an
/// engine. Answers are numbers of entries.
template <class Entry>
class List {
 public:
  /// `structure` is one of rule_structures(). `grace_periods` outlives it. Throws std::length_error if the structure
  /// has no place for so many.
  List(RuleFields fields, const std::string& structure, std::uint64_t seed, GracePeriods& grace_periods)
      : table_(make_rule_table(structure, fields, seed, grace_periods)), rules_(fields, grace_periods) {
    rules_.feed(*table_);
  }

  /// Takes over other entries, all at once: each packet is decided by the list before or by this one. Entries that both
  /// have keep their numbers; `begin` is told of the others before they can be answers. Throws std::length_error if the
  /// two together are too many, and then nothing has changed.
  void replace(std::vector<Entry> entries, const std::function<void(std::uint32_t number, const Entry& entry)>& begin);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The number by which lookups name an entry, by its place in entries().
  std::uint32_t number(std::size_t place) const { return numbers_[place]; }

  const std::string& shader() const { return table_->shader(); }
  Table& table() { return table_->table(); }
  std::size_t memory_bytes() const { return table_->memory_bytes(); }

 private:
  std::unique_ptr<RuleTable> table_;
  RuleSet rules_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> numbers_;  ///< of each entry
  std::vector<std::uint64_t> ranks_;    ///< likewise, falling
};

template <class Entry>
void List<Entry>::replace(std::vector<Entry> entries,
                          const std::function<void(std::uint32_t number, const Entry& entry)>& begin) {
  Changes changes = compare<Entry>(entries_, entries);
  std::vector<std::uint64_t> ranks = ranks_after(changes, ranks_);
  if (ranks.empty() && !entries.empty()) {
    std::ranges::fill(changes.kept, 0);
    ranks = ranks_after(changes, ranks_);
  }
  std::vector<std::uint32_t> numbers(entries.size());
  std::vector<std::uint32_t> added;
  try {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::uint32_t kept = changes.kept[i];
      numbers[i] = kept != 0 ? numbers_[kept - 1] : rules_.add_ranked(entries[i].match, ranks[i]);
      if (kept == 0) added.push_back(numbers[i]);
    }
  } catch (const std::length_error&) {
    for (const std::uint32_t number : added) rules_.remove(number);
    rules_.commit();
    throw;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (changes.kept[i] == 0) begin(numbers[i], entries[i]);
  }
  std::vector<bool> goes_on(entries_.size());
  for (const std::uint32_t kept : changes.kept) {
    if (kept != 0) goes_on[kept - 1] = true;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!goes_on[i]) rules_.remove(numbers_[i]);
  }
  rules_.commit();
  entries_ = std::move(entries);
  numbers_ = std::move(numbers);
  ranks_ = std::move(ranks);
}

}  // namespace penumbra::rule_list
