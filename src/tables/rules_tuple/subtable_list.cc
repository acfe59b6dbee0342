// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_tuple/subtable_list.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tables/rules_tuple/rules_bloom.shader.h"

namespace penumbra {
namespace {

constexpr std::size_t kFirstHalf = 32;
static_assert(kFirstHalf % RULES_BLOOM_GROUP == 0);

}  // namespace

SubtableList::SubtableList(std::size_t words, bool is_sparse, std::uint64_t seed, GracePeriods& grace_periods)
    : words_(words),
      is_sparse_(is_sparse),
      rows_(is_sparse ? std::size_t{RULES_SPARSE_ROWS} : words),
      grace_periods_(grace_periods),
      random_(seed),
      arrays_(make_arrays(kFirstHalf)) {}

SubtableList::Arrays SubtableList::make_arrays(std::size_t half) const {
  return {.list = HugeArray<std::uint64_t>(8),
          .subtables = HugeArray<rules_subtable>(2 * half),
          .groups = HugeArray<std::uint64_t>(2 * half * (rows_ + RULES_GROUP_ROWS)),
          .half = half};
}

void SubtableList::append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions) {
  if (table_ == nullptr) {
    table_ = &table;
    first_region_ = regions.size();
    class_changes_ = TableChanges<rules_subtable>(first_region_ + 1);
    group_changes_ = TableChanges<std::uint64_t>(first_region_ + 2);
  }
  const auto bytes = [](const auto& array) { return reinterpret_cast<const std::byte*>(array.data()); };
  regions.push_back({offsets.list, bytes(arrays_.list), arrays_.list.bytes()});
  regions.push_back({offsets.subtables, bytes(arrays_.subtables), arrays_.subtables.bytes()});
  regions.push_back({offsets.group, bytes(arrays_.groups), arrays_.groups.bytes()});
}

Subtable* SubtableList::find(const SparseWords& mask) {
  const auto found = by_mask_.find(mask);
  return found == by_mask_.end() ? nullptr : found->second;
}

/// Nobody reads the new arrays yet, so publishing suffices to announce the changes.
SubtableList::Arrays SubtableList::grow() {
  std::vector<Subtable*> order;
  for (const auto& each : subtables_) {
    if (each != nullptr) order.push_back(each.get());
  }
  Arrays next = make_arrays(2 * arrays_.half);
  announce();
  std::swap(arrays_, next);
  other_half_is_read_ = false;
  in_second_half_ = true;  // write() switches to the first half
  Table* const table = std::exchange(table_, nullptr);
  write(order);
  table_ = table;
  other_half_is_read_ = false;
  return next;
}

Subtable& SubtableList::append(const SparseWords& mask) {
  auto made = std::make_unique<Subtable>();
  made->used = is_sparse_ ? UsedWords::of(mask) : UsedWords::all(words_);
  made->mask = made->used.gathered(mask);
  made->salt = random_.next();
  if (free_numbers_.empty()) {
    free_numbers_.push_back(static_cast<std::uint32_t>(subtables_.size()));
    subtables_.emplace_back();
  }
  made->number = free_numbers_.back();
  Subtable& of = *made;
  by_mask_.emplace(mask, &of);
  free_numbers_.pop_back();
  subtables_[of.number] = std::move(made);
  write_subtable(of, begin() + static_cast<std::uint32_t>(size_), 0);
  ++size_;
  set_list();
  can_be_better_ = true;
  return of;
}

void SubtableList::raise(Subtable& of, std::uint64_t rank) {
  if (rank <= of.best) return;
  of.best = rank;
  of.best_has_gone = false;
  for (std::uint32_t place = of.place;; --place) {
    rules_subtable& each = arrays_.subtables[place];
    if (each.bound >= rank) break;
    std::atomic_ref(each.bound).store(rank, std::memory_order_release);
    class_changes_.add(*table_, place);
    can_be_better_ = can_be_better_ || place != of.place;
    if (place == begin()) break;
  }
}

void SubtableList::lower(Subtable& of, std::uint64_t rank) {
  if (rank != of.best) return;
  of.best_has_gone = true;
  can_be_better_ = true;
}

void SubtableList::set_filters(Subtable& of, std::uint64_t filter, std::uint64_t prefilter) {
  of.filter = filter;
  of.prefilter = prefilter;
  write_word(of.place, rows_ + RULES_GROUP_FILTER, filter);
  write_word(of.place, rows_ + RULES_GROUP_PREFILTER, prefilter);
}

bool SubtableList::can_be_sorted() {
  if (other_half_is_read_ && grace_periods_.elapsed(period_, false)) other_half_is_read_ = false;
  return can_be_better_ && !other_half_is_read_;
}

/// Writes the list to the unused half and leads readers there. A dropped subtable's number is reused only when no
/// reader can be in a list that has the subtable.
void SubtableList::write(const std::vector<Subtable*>& subtables) {
  std::vector<Subtable*> order = subtables;
  std::ranges::sort(order, [](const Subtable* a, const Subtable* b) { return a->best > b->best; });
  free_numbers_.insert(free_numbers_.end(), dropped_numbers_.begin(), dropped_numbers_.end());
  dropped_numbers_.clear();
  in_second_half_ = !in_second_half_;
  size_ = order.size();
  for (std::uint32_t i = 0; i < size_; ++i) write_subtable(*order[i], begin() + i, order[i]->best);
  set_list();
  period_ = grace_periods_.start();
  other_half_is_read_ = true;
  can_be_better_ = std::ranges::any_of(order, &Subtable::best_has_gone);
}

/// Nobody reads the place yet.
void SubtableList::write_subtable(Subtable& of, std::uint32_t place, std::uint64_t bound) {
  of.place = place;
  arrays_.subtables[place] = {.bound = bound, .number = of.number};
  if (table_ != nullptr) class_changes_.add(*table_, place);
  for (std::size_t word = 0; word < words_; ++word) write_word(place, word, of.mask[word]);
  if (is_sparse_) write_word(place, words_, of.used.places());
  write_word(place, rows_ + RULES_GROUP_SALT, of.salt);
  write_word(place, rows_ + RULES_GROUP_FILTER, of.filter);
  write_word(place, rows_ + RULES_GROUP_PREFILTER, of.prefilter);
}

/// Readers may read other words of the group, and this word before the subtable is in the list.
void SubtableList::write_word(std::uint32_t place, std::size_t row, std::uint64_t word) {
  const std::size_t index = rules_group_row(place, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(rows_)) +
                            place % RULES_TUPLE_GROUP;
  std::atomic_ref(arrays_.groups[index]).store(word, std::memory_order_release);
  if (table_ != nullptr) group_changes_.add(*table_, index);
}

void SubtableList::set_list() {
  std::atomic_ref(arrays_.list[0]).store(std::uint64_t{begin()} << 32 | size_, std::memory_order_release);
  if (table_ != nullptr) table_->changed(first_region_, 0, sizeof(std::uint64_t));
}

void SubtableList::drop_subtable(Subtable& of) {
  by_mask_.erase(of.used.scattered(of.mask));
  dropped_numbers_.push_back(of.number);
  subtables_[of.number].reset();
}

std::size_t SubtableList::Hash::operator()(const SparseWords& mask) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : mask) hash = Random::mixed(hash ^ word);
  return hash;
}

std::size_t SubtableList::memory_bytes() const {
  return arrays_.list.bytes() + arrays_.subtables.bytes() + arrays_.groups.bytes();
}

}  // namespace penumbra
