// SPDX-License-Identifier: Apache-2.0
#include "shaders/rules_tuple/class_list.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shaders/rules_tuple/rules_bloom.shader.h"

namespace penumbra {
namespace {

constexpr std::size_t kFirstHalf = 32;
static_assert(kFirstHalf % RULES_BLOOM_GROUP == 0);

}  // namespace

ClassList::ClassList(std::size_t words, std::uint64_t seed, GracePeriods& grace_periods)
    : words_(words), grace_periods_(grace_periods), random_(seed), arrays_(make_arrays(kFirstHalf)) {}

ClassList::Arrays ClassList::make_arrays(std::size_t half) const {
  return {.list = HugeArray<std::uint64_t>(8),
          .classes = HugeArray<rules_class>(2 * half),
          .groups = HugeArray<std::uint64_t>(2 * half * (words_ + RULES_GROUP_ROWS)),
          .half = half};
}

void ClassList::append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions) {
  if (table_ == nullptr) {
    table_ = &table;
    first_region_ = regions.size();
    class_changes_ = TableChanges<rules_class>(first_region_ + 1);
    group_changes_ = TableChanges<std::uint64_t>(first_region_ + 2);
  }
  const auto bytes = [](const auto& array) { return reinterpret_cast<const std::byte*>(array.data()); };
  regions.push_back({offsets.list, bytes(arrays_.list), arrays_.list.bytes()});
  regions.push_back({offsets.classes, bytes(arrays_.classes), arrays_.classes.bytes()});
  regions.push_back({offsets.group, bytes(arrays_.groups), arrays_.groups.bytes()});
}

RuleClass* ClassList::find(const RuleWords& mask) {
  const auto found = by_mask_.find(mask);
  return found == by_mask_.end() ? nullptr : found->second;
}

/// Nobody reads the new ones yet, and nothing is announced of them: publishing tells all.
ClassList::Arrays ClassList::grow() {
  std::vector<RuleClass*> order;
  for (const auto& each : classes_) {
    if (each != nullptr) order.push_back(each.get());
  }
  Arrays next = make_arrays(2 * arrays_.half);
  announce();
  std::swap(arrays_, next);
  other_half_is_read_ = false;
  in_second_half_ = true;  // write() goes to the other one
  Table* const table = std::exchange(table_, nullptr);
  write(order);
  table_ = table;
  other_half_is_read_ = false;
  return next;
}

RuleClass& ClassList::append(const RuleWords& mask) {
  auto made = std::make_unique<RuleClass>();
  made->mask = mask;
  made->salt = random_.next();
  if (free_numbers_.empty()) {
    free_numbers_.push_back(static_cast<std::uint32_t>(classes_.size()));
    classes_.emplace_back();
  }
  made->number = free_numbers_.back();
  RuleClass& of = *made;
  by_mask_.emplace(mask, &of);
  free_numbers_.pop_back();
  classes_[of.number] = std::move(made);
  write_class(of, begin() + static_cast<std::uint32_t>(size_), 0);
  ++size_;
  set_list();
  can_be_better_ = true;
  return of;
}

void ClassList::raise(RuleClass& of, std::uint64_t rank) {
  if (rank <= of.best) return;
  of.best = rank;
  of.best_has_gone = false;
  for (std::uint32_t place = of.place;; --place) {
    rules_class& each = arrays_.classes[place];
    if (each.bound >= rank) break;
    std::atomic_ref(each.bound).store(rank, std::memory_order_release);
    class_changes_.add(*table_, place);
    can_be_better_ = can_be_better_ || place != of.place;
    if (place == begin()) break;
  }
}

void ClassList::lower(RuleClass& of, std::uint64_t rank) {
  if (rank != of.best) return;
  of.best_has_gone = true;
  can_be_better_ = true;
}

void ClassList::set_filters(RuleClass& of, std::uint64_t filter, std::uint64_t sieve) {
  of.filter = filter;
  of.sieve = sieve;
  write_word(of.place, words_ + RULES_GROUP_FILTER, filter);
  write_word(of.place, words_ + RULES_GROUP_SIEVE, sieve);
}

bool ClassList::can_be_sorted() {
  if (other_half_is_read_ && grace_periods_.elapsed(period_, false)) other_half_is_read_ = false;
  return can_be_better_ && !other_half_is_read_;
}

/// Writes the list to the other half and leads readers there. A class's number serves another one when nobody can be
/// going through a list any more that it was dropped from.
void ClassList::write(const std::vector<RuleClass*>& classes) {
  std::vector<RuleClass*> order = classes;
  std::ranges::sort(order, [](const RuleClass* a, const RuleClass* b) { return a->best > b->best; });
  free_numbers_.insert(free_numbers_.end(), dropped_numbers_.begin(), dropped_numbers_.end());
  dropped_numbers_.clear();
  in_second_half_ = !in_second_half_;
  size_ = order.size();
  for (std::uint32_t i = 0; i < size_; ++i) write_class(*order[i], begin() + i, order[i]->best);
  set_list();
  period_ = grace_periods_.start();
  other_half_is_read_ = true;
  can_be_better_ = std::ranges::any_of(order, &RuleClass::best_has_gone);
}

/// Nobody reads the place yet.
void ClassList::write_class(RuleClass& of, std::uint32_t place, std::uint64_t bound) {
  of.place = place;
  arrays_.classes[place] = {.bound = bound, .number = of.number};
  if (table_ != nullptr) class_changes_.add(*table_, place);
  for (std::size_t word = 0; word < words_; ++word) write_word(place, word, of.mask[word]);
  write_word(place, words_ + RULES_GROUP_SALT, of.salt);
  write_word(place, words_ + RULES_GROUP_FILTER, of.filter);
  write_word(place, words_ + RULES_GROUP_SIEVE, of.sieve);
}

/// Readers may look at the others of its group, and at itself before it counts.
void ClassList::write_word(std::uint32_t place, std::size_t row, std::uint64_t word) {
  const std::size_t index =
      rules_group_row(place, static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(words_)) +
      place % RULES_TUPLE_GROUP;
  std::atomic_ref(arrays_.groups[index]).store(word, std::memory_order_release);
  if (table_ != nullptr) group_changes_.add(*table_, index);
}

void ClassList::set_list() {
  std::atomic_ref(arrays_.list[0]).store(std::uint64_t{begin()} << 32 | size_, std::memory_order_release);
  if (table_ != nullptr) table_->changed(first_region_, 0, sizeof(std::uint64_t));
}

void ClassList::drop_class(RuleClass& of) {
  by_mask_.erase(of.mask);
  dropped_numbers_.push_back(of.number);
  classes_[of.number].reset();
}

std::size_t ClassList::Hash::operator()(const RuleWords& mask) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : mask) hash = Random::mixed(hash ^ word);
  return hash;
}

std::size_t ClassList::memory_bytes() const {
  return arrays_.list.bytes() + arrays_.classes.bytes() + arrays_.groups.bytes();
}

}  // namespace penumbra
