// SPDX-License-Identifier: Apache-2.0
//
// A list of rules in force, the first of which that matches decides: its entries in order, and the structure that is
// searched. An entry is whatever has a `match` (RuleMatch, normalised) and a `line` in a file (0: it stands in none),
// and says by is_like() whether another one does the same.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "functions/rule_list/hits.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "tables/rules/rule_set.h"
#include "tables/rules/rule_structures.h"
#include "tables/rules/rule_table.h"

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
  constexpr auto kHash = [](const Entry* entry) { return hash_of(entry->match); };
  constexpr auto kIsLike = [](const Entry* a, const Entry* b) { return a->is_like(*b); };
  // Of entries that are alike, however many, all places, the last one first.
  std::unordered_map<const Entry*, std::vector<std::uint32_t>, decltype(kHash), decltype(kIsLike)> places;
  for (std::size_t i = before.size(); i-- > 0;) places[&before[i]].push_back(static_cast<std::uint32_t>(i + 1));
  std::vector<std::uint32_t> like(after.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto found = places.find(&after[i]);
    if (found == places.end() || found->second.empty()) continue;
    like[i] = found->second.back();
    found->second.pop_back();
  }
  return keep_most(like, before.size());
}

/// Entries that decide in their order, and what each has decided. One thread changes and asks it; lookups on any thread
/// go through table() and an engine. Answers are numbers of entries.
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
  /// have keep their numbers and count on; `begin` is told of the others before they can be answers. Throws
  /// std::length_error if the two together are too many. If it throws, nothing has changed.
  void replace(std::vector<Entry> entries, const std::function<void(std::uint32_t number, const Entry& entry)>& begin);

  const std::vector<Entry>& entries() const { return entries_; }
  /// The entry that lookups name by this number; null if it is gone. From the thread that changes the list.
  const Entry* entry(std::uint32_t number) const {
    const auto found = std::ranges::find(numbers_, number);
    return found == numbers_.end() ? nullptr : &entries_[static_cast<std::size_t>(found - numbers_.begin())];
  }
  /// What an entry has decided, by its place in entries(); from the thread that changes it.
  Hits hits(std::size_t place) const { return hits_.of(numbers_[place]); }
  /// The number by which lookups name an entry, by its place in entries().
  std::uint32_t number(std::size_t place) const { return numbers_[place]; }

  // Any worker.

  /// Before its first packet.
  void prepare(std::size_t worker) noexcept { hits_.prepare(worker, most_.load(std::memory_order_relaxed)); }
  /// The entry of this number has decided on a packet.
  void count(std::size_t worker, std::uint32_t number, std::uint32_t bytes, std::uint64_t now_ms) noexcept {
    hits_.count(worker, number, bytes, now_ms);
  }
  /// The line of the entry of this number.
  std::uint32_t line(std::uint32_t number) const {
    return std::atomic_ref(lines_[number]).load(std::memory_order_relaxed);
  }

  const std::string& shader() const { return table_->shader(); }
  Table& table() { return table_->table(); }
  std::size_t memory_bytes() const { return table_->memory_bytes(); }

 private:
  std::unique_ptr<RuleTable> table_;
  RuleSet rules_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> numbers_;  ///< of each entry
  std::vector<std::uint64_t> ranks_;    ///< likewise, falling
  std::atomic<std::uint32_t> most_{0};  ///< of the numbers that were ever in use
  mutable HitCounters hits_;
  mutable HugeArray<std::uint32_t> lines_{kMostRules + 1};  ///< by number
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
  } catch (...) {
    for (const std::uint32_t number : added) rules_.remove(number);
    rules_.commit();
    throw;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::atomic_ref(lines_[numbers[i]]).store(entries[i].line, std::memory_order_relaxed);
    if (changes.kept[i] != 0) continue;
    hits_.clear(numbers[i]);
    most_.store(std::max(most_.load(std::memory_order_relaxed), numbers[i]), std::memory_order_relaxed);
    begin(numbers[i], entries[i]);
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
