// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_fast/rule_tree.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

namespace penumbra {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

}  // namespace

std::uint32_t FastRules::Version::class_of(std::uint64_t rank) const {
  // With few thresholds, the rank classes are far apart, so that their upper bits distinguish as many as possible.
  const auto part = static_cast<std::size_t>(std::ranges::upper_bound(thresholds_, rank) - thresholds_.begin());
  return 1 + static_cast<std::uint32_t>(part * (RULES_FAST_CLASSES - 2) / std::max<std::size_t>(thresholds_.size(), 1));
}

/// Returns the distinct slots of a rule in a group, or no slots if there are too many.
std::span<const std::uint32_t> FastRules::Version::find_slots(std::uint32_t number, std::size_t group) {
  std::size_t count = 0;
  rules_fast::for_each_copy(entries_[number].match, words_, bits_[group], [&](const RuleWords& copy) {
    const std::uint32_t slot = rules_fast_slot(&groups_[group], copy.data(), static_cast<std::uint32_t>(words_));
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(found_.begin(), end, slot) == end) found_[count++] = slot;
  });
  return std::span(found_).first(count);
}

void FastRules::Version::publish_to(Table& table) {
  view_ = {.group = groups_.data(),
           .slot = slots_.data(),
           .narrow = leaves_.narrow(),
           .wide = leaves_.wide(),
           .rule = rules_.data(),
           .mask = masks_.data(),
           .state = state_.data(),
           .groups = static_cast<std::uint32_t>(bits_.size())};
  const auto bytes = [](const auto* data) { return reinterpret_cast<const std::byte*>(data); };
  const bool is_narrow = view_.narrow != nullptr;
  table.publish(view_,
                {{offsetof(rules_fast_view, group), bytes(groups_.data()), groups_.size() * sizeof(rules_fast_group)},
                 {offsetof(rules_fast_view, slot), bytes(slots_.data()), slots_.bytes()},
                 {is_narrow ? offsetof(rules_fast_view, narrow) : offsetof(rules_fast_view, wide),
                  is_narrow ? bytes(leaves_.narrow()) : bytes(leaves_.wide()), leaves_.region_bytes()},
                 {offsetof(rules_fast_view, rule), bytes(rules_.data()), rules_.bytes()},
                 {offsetof(rules_fast_view, mask), bytes(masks_.data()), masks_.bytes()},
                 {offsetof(rules_fast_view, state), bytes(state_.data()), sizeof state_}});
  table_ = &table;
  leaves_.announce_to(table, kBlocks);
}

/// Writes the data of a rule outside the leaves. Returns false if memory is exhausted.
bool FastRules::Version::describe(std::uint32_t number, std::uint32_t born) {
  Entry& entry = entries_[number];
  if (number >= rules_.size()) return false;
  rules_fast_rule& rule = rules_[number];
  std::uint32_t mask = 0;
  if (!rules_fast::box_of(entry.match, fields_).is_all) {
    if (free_masks_.empty()) return false;
    mask = free_masks_.back();
    free_masks_.pop_back();
    std::ranges::copy(entry.match.value, masks_[mask].value);
    std::ranges::copy(entry.match.mask, masks_[mask].mask);
    if (table_ != nullptr) mask_changes_.add(*table_, mask);
  }
  entry.entry = class_of(entry.rank) << RULES_FAST_CLASS_SHIFT | number;
  rule.rank = entry.rank;
  rule.mask = mask;
  std::atomic_ref(rule.born).store(born, std::memory_order_relaxed);
  std::atomic_ref(rule.dies).store(kNever, std::memory_order_relaxed);
  if (table_ != nullptr) rule_changes_.add(*table_, number);
  return true;
}

/// Returns a slot with a new leaf of the rules, best first. Returns 0 if there are no rules or memory is exhausted.
std::uint32_t FastRules::Version::written(std::span<const std::uint32_t> numbers) {
  if (numbers.empty()) return 0;
  rows_.clear();
  bool is_checked = false;
  for (const std::uint32_t number : numbers) {
    const auto box = rules_fast::box_of(entries_[number].match, fields_);
    rows_.push_back(box.row);
    rows_.back().entry = entries_[number].entry;
    is_checked = is_checked || !box.is_all || entries_[number].use != Use::settled;
  }
  const std::uint32_t slot = leaves_.write(rows_);
  if (slot == 0) return 0;
  const std::uint32_t best_class = rows_.front().entry >> RULES_FAST_CLASS_SHIFT;
  return slot | (is_checked ? RULES_FAST_CHECK : 0) | rules_fast::coarse(best_class) << RULES_FAST_COARSE_SHIFT;
}

/// Replaces the content of a slot for new readers.
void FastRules::Version::exchange(std::uint32_t slot, std::uint32_t after) {
  const std::uint32_t before = slots_[slot];
  if (before == after) return;
  std::atomic_ref(slots_[slot]).store(after, std::memory_order_release);
  slot_changes_.add(*table_, slot);
  if (before != 0 && (before & RULES_FAST_BLOCK_MASK) != (after & RULES_FAST_BLOCK_MASK)) leaves_.retire(before);
}

bool FastRules::Version::add(std::uint32_t number) {
  if (!describe(number, state_[0] + 1)) return false;
  Entry& entry = entries_[number];
  const bool has_place = choose_place(number, [this](std::uint32_t slot) {
    leaf_.clear();
    leaves_.read(slots_[slot], leaf_);
    return leaf_.size();
  });
  if (!has_place) return false;
  entry.use = Use::fresh;
  ++added_since_;
  if (rules_fast_group& group = groups_[entry.group]; group.best < rules_fast::coarse(class_of(entry.rank))) {
    std::atomic_ref(group.best).store(rules_fast::coarse(class_of(entry.rank)), std::memory_order_relaxed);
    group_changes_.add(*table_, entry.group);
  }
  bool is_crowded = false;
  for (const std::uint32_t slot : find_slots(number, entry.group)) {
    leaf_.clear();
    leaves_.read(slots_[slot], leaf_);
    for (std::uint32_t& each : leaf_) each &= RULES_FAST_NUMBER_MASK;
    const auto place =
        std::ranges::find_if(leaf_, [&](std::uint32_t other) { return entries_[other].rank < entry.rank; });
    leaf_.insert(place, number);
    is_crowded = is_crowded || leaf_.size() > rules_fast::kLeafRules;
    const std::uint32_t after = written(leaf_);
    if (after == 0) return false;
    exchange(slot, after);
    fresh_.slots.push_back(slot);
  }
  displaced_since_ += is_crowded ? 1 : 0;
  fresh_.born.push_back(number);
  return true;
}

void FastRules::Version::let_die(std::uint32_t number) {
  Entry& entry = entries_[number];
  std::atomic_ref(rules_[number].dies).store(state_[0] + 1, std::memory_order_relaxed);
  rule_changes_.add(*table_, number);
  entry.use = Use::dying;
  for (const std::uint32_t slot : find_slots(number, entry.group)) {
    exchange(slot, slots_[slot] | RULES_FAST_CHECK);
    fresh_.slots.push_back(slot);
  }
  fresh_.dead.push_back(number);
}

void FastRules::Version::commit() {
  group_changes_.flush(*table_);
  mask_changes_.flush(*table_);
  rule_changes_.flush(*table_);
  leaves_.flush();
  slot_changes_.flush(*table_);
  std::atomic_ref(state_[0]).store(state_[0] + 1, std::memory_order_release);
  table_->changed(kState, 0, sizeof state_[0]);
  table_->commit();
  if (waiting_.is_empty()) {
    std::swap(waiting_, fresh_);
    period_ = grace_periods_.start();
  }
}

void FastRules::Version::tidy(bool wait) {
  while (!waiting_.is_empty() && grace_periods_.elapsed(period_, wait)) {
    for (const std::uint32_t number : waiting_.born) {
      if (entries_[number].use == Use::fresh) entries_[number].use = Use::settled;
    }
    for (const std::uint32_t number : waiting_.dead) entries_[number].use = Use::gone;
    for (const std::uint32_t slot : waiting_.slots) is_full_ = !tidy_slot(slot) || is_full_;
    for (const std::uint32_t number : waiting_.dead) {
      entries_[number].use = is_full_ ? Use::dying : Use::free;
      if (!is_full_ && rules_[number].mask != 0) free_masks_.push_back(rules_[number].mask);
    }
    waiting_ = {};
    if (!fresh_.is_empty()) {
      std::swap(waiting_, fresh_);
      period_ = grace_periods_.start();
    }
  }
}

/// Removes dead rules from the leaf of a slot, and clears the slot's check flag if it is no longer needed. Returns
/// false if memory is exhausted.
bool FastRules::Version::tidy_slot(std::uint32_t slot) {
  const std::uint32_t before = slots_[slot];
  leaf_.clear();
  leaves_.read(before, leaf_);
  for (std::uint32_t& each : leaf_) each &= RULES_FAST_NUMBER_MASK;
  const auto is_gone = [this](std::uint32_t number) { return entries_[number].use == Use::gone; };
  if (std::erase_if(leaf_, is_gone) > 0) {
    const std::uint32_t after = written(leaf_);
    if (after == 0 && !leaf_.empty()) return false;
    exchange(slot, after);
    return true;
  }
  const bool is_at_rest = std::ranges::all_of(
      leaf_, [this](std::uint32_t number) { return entries_[number].use == Use::settled && rules_[number].mask == 0; });
  if (is_at_rest) exchange(slot, before & ~std::uint32_t{RULES_FAST_CHECK});
  return true;
}

bool FastRules::Version::is_worn() const {
  return added_since_ > placed_at_first_ + 1024 || is_out_of_date() || is_full_ || state_[0] == kNever - 2;
}

std::size_t FastRules::Version::bytes() const {
  return groups_.size() * sizeof(rules_fast_group) + slots_.bytes() + leaves_.used_bytes() + rules_.bytes();
}

}  // namespace penumbra
