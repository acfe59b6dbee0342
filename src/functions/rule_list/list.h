// SPDX-License-Identifier: Apache-2.0
//
// Implements a list of rules and the structure that searches it. The first rule that matches a packet decides. An entry
// has a `match` (a normalised RuleMatch, or a SparseMatch) and a `line` in a file (0 if no file has it). is_like()
// returns true for an entry with the same effect.
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
#include "functions/rule_list/rules.h"
#include "penumbra/huge_memory.h"
#include "penumbra/table.h"

namespace penumbra::rule_list {

/// Holds the differences between a list and its replacement.
struct Changes {
  std::vector<std::uint32_t> kept;  ///< place of the old entry, from 1, that each new entry continues; 0: a new entry
  std::size_t added = 0;
  std::size_t removed = 0;
};

std::uint64_t hash_of(const RuleMatch& match);
std::uint64_t hash_of(const SparseMatch& match);

/// `like` has for each new entry the place of an equal old entry, from 1, or 0. Keeps the largest number of entries
/// that have the same order in both lists.
Changes keep_most(std::span<const std::uint32_t> like, std::size_t before);

/// Returns the falling ranks of a list after these changes. Kept entries keep their ranks, and the ranks of new entries
/// are evenly spaced between them. Returns an empty vector if there is no room between two ranks.
std::vector<std::uint64_t> ranks_after(const Changes& changes, std::span<const std::uint64_t> before);

/// Keeps the largest number of entries that have the same effect and the same order in both lists.
template <class Entry>
Changes compare(std::span<const Entry> before, std::span<const Entry> after) {
  constexpr auto kHash = [](const Entry* entry) { return hash_of(entry->match); };
  constexpr auto kIsLike = [](const Entry* a, const Entry* b) { return a->is_like(*b); };
  // Maps each set of equal entries to all its places, the last one first.
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

/// Holds a list of entries with the decisions of each entry. One thread changes and queries the list. Any thread may
/// look packets up through table() and an engine. The results are entry numbers.
template <class Entry>
class List {
 public:
  using Match = decltype(Entry::match);

  /// `rules` must be empty.
  explicit List(std::unique_ptr<Rules<Match>> rules, std::size_t workers = 1)
      : rules_(std::move(rules)), hits_(workers) {}

  /// Replaces all entries in one step: each packet is decided by either the old or the new list. Entries of both lists
  /// keep their numbers and counters. `begin` is called for each new entry before lookups can return its number. Throws
  /// std::length_error if both lists together are too long. An exception leaves the list unchanged.
  void replace(std::vector<Entry> entries, const std::function<void(std::uint32_t number, const Entry& entry)>& begin);

  const std::vector<Entry>& entries() const { return entries_; }
  /// Returns the entry of a number that a lookup returned, or null if it was removed. Must be called by the thread that
  /// changes the list.
  const Entry* entry(std::uint32_t number) const {
    const auto found = std::ranges::find(numbers_, number);
    return found == numbers_.end() ? nullptr : &entries_[static_cast<std::size_t>(found - numbers_.begin())];
  }
  /// Returns the decisions of the entry at this index of entries(). Must be called by the thread that changes the list.
  Hits hits(std::size_t place) const { return hits_.of(numbers_[place]); }
  /// Returns the number that lookups return for the entry at this index of entries().
  std::uint32_t number(std::size_t place) const { return numbers_[place]; }

  // Any worker may call the following functions, with its own index.

  /// Must be called before the worker's first packet.
  void prepare(std::size_t worker) noexcept { hits_.prepare(worker, most_.load(std::memory_order_relaxed)); }
  /// Counts a packet that the entry of this number has decided on.
  void count(std::size_t worker, std::uint32_t number, std::uint32_t bytes, std::uint64_t now_ms) noexcept {
    hits_.count(worker, number, bytes, now_ms);
  }
  /// Returns the line of the entry of this number.
  std::uint32_t line(std::uint32_t number) const {
    return std::atomic_ref(lines_[number]).load(std::memory_order_relaxed);
  }

  const std::string& shader() const { return rules_->shader(); }
  Table& table() { return rules_->table(); }
  std::size_t memory_bytes() const { return rules_->memory_bytes(); }

 private:
  const std::unique_ptr<Rules<Match>> rules_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> numbers_;  ///< number of each entry
  std::vector<std::uint64_t> ranks_;    ///< rank of each entry, falling
  std::atomic<std::uint32_t> most_{0};  ///< the largest number that was ever in use
  mutable HitCounters hits_;
  mutable HugeArray<std::uint32_t> lines_{kMostRules + 1};  ///< by entry number
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
      numbers[i] = kept != 0 ? numbers_[kept - 1] : rules_->add(entries[i].match, ranks[i]);
      if (kept == 0) added.push_back(numbers[i]);
    }
  } catch (...) {
    for (const std::uint32_t number : added) rules_->remove(number);
    rules_->commit();
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
    if (!goes_on[i]) rules_->remove(numbers_[i]);
  }
  rules_->commit();
  entries_ = std::move(entries);
  numbers_ = std::move(numbers);
  ranks_ = std::move(ranks);
}

}  // namespace penumbra::rule_list
