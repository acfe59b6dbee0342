// SPDX-License-Identifier: Apache-2.0
#include "shaders/rules_fast/version.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/random.h"
#include "shaders/rules_fast/copies.h"

namespace penumbra {
namespace {

constexpr std::size_t kMostGroups = 32;
/// Slots are so many times the rules that stand in them, at least: most slots that nothing is found in are empty.
constexpr std::size_t kSlotsPerRule = 2;
constexpr unsigned kLeastSlotBits = 4, kMostSlotBits = 25;
constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
/// To look into a leaf that every key comes to costs as much as into so many others.
constexpr std::size_t kEveryKeyCosts = 8;

/// A class as slots have it.
std::uint32_t coarse(std::uint32_t its_class) {
  static_assert(RULES_FAST_CLASSES == 1 << 12);
  return its_class >> (12 - (32 - RULES_FAST_COARSE_SHIFT));
}

bool is_none(const RuleWords& bits) {
  return bits == RuleWords{};
}

}  // namespace

FastRules::Version::Version(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods,
                            std::vector<Entry>& entries, std::span<const std::uint32_t> numbers,
                            std::span<const RuleWords> bits)
    : fields_(fields),
      words_(words_of(fields)),
      seed_(seed),
      grace_periods_(grace_periods),
      entries_(entries),
      leaves_(fields, grace_periods) {
  find_classes(numbers);
  Standing standing = choose_groups(numbers, bits);
  sort_groups(numbers);
  make_room(numbers, standing);
  fill(numbers, std::move(standing));
  placed_at_first_ = numbers.size();
  if (groups_.empty()) groups_.emplace_back();  // nobody reads it, but a region is somewhere
}

/// Ranks that divide the rules into equal parts: as many as there are classes, less one for what is below all of them.
void FastRules::Version::find_classes(std::span<const std::uint32_t> numbers) {
  const std::size_t count = std::min<std::size_t>(numbers.size(), RULES_FAST_CLASSES - 2);
  for (std::size_t i = count; i-- > 0;) {
    thresholds_.push_back(entries_[numbers[i * numbers.size() / count]].rank);
  }
}

std::uint32_t FastRules::Version::class_of(std::uint64_t rank) const {
  // Few parts have classes far apart: the upper bits of a class are to tell as much as they can.
  const auto part = static_cast<std::size_t>(std::ranges::upper_bound(thresholds_, rank) - thresholds_.begin());
  return 1 + static_cast<std::uint32_t>(part * (RULES_FAST_CLASSES - 2) / std::max<std::size_t>(thresholds_.size(), 1));
}

void FastRules::Version::add_group(const RuleWords& bits, std::size_t copies) {
  const auto slot_bits =
      std::clamp(static_cast<unsigned>(std::bit_width(copies * kSlotsPerRule)), kLeastSlotBits, kMostSlotBits);
  rules_fast_group group{};
  for (std::size_t part = 0; part < RULES_FAST_PARTS; ++part) {
    group.mask[part] = static_cast<std::uint32_t>(bits[part / 2] >> (part % 2 == 0 ? 32 : 0));
    group.multiplier[part] = static_cast<std::uint32_t>(Random::mixed(++seed_)) | 1;
  }
  if (!groups_.empty()) group.first_slot = groups_.back().first_slot + (2U << (31 - groups_.back().shift));
  group.shift = 32 - slot_bits;
  groups_.push_back(group);
  bits_.push_back(bits);
}

/// The slots of a group that a rule stands in, each once; none if they are too many.
std::span<const std::uint32_t> FastRules::Version::find_slots(std::uint32_t number, std::size_t group) {
  std::size_t count = 0;
  rules_fast::for_each_copy(entries_[number].match, words_, bits_[group], [&](const RuleWords& copy) {
    const std::uint32_t slot = rules_fast_slot(&groups_[group], copy.data(), static_cast<std::uint32_t>(words_));
    const auto end = found_.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::find(found_.begin(), end, slot) == end) found_[count++] = slot;
  });
  return std::span(found_).first(count);
}

/// Decides which group a rule goes to: the first that has room in its leaves, otherwise where it crowds least.
/// crowd(slot) is how many rules are in a leaf. False if there is no group for it.
template <class Crowd>
bool FastRules::Version::choose_place(std::uint32_t number, Crowd crowd) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t group = 0; group < bits_.size(); ++group) {
    std::size_t most = 0;
    const auto slots = find_slots(number, group);
    if (slots.empty()) continue;
    for (const std::uint32_t slot : slots) most = std::max(most, crowd(slot));
    if (most >= rules_fast::kLeafRules && is_none(bits_[group])) most *= kEveryKeyCosts;
    if (most >= least) continue;
    least = most;
    entries_[number].group = static_cast<std::uint16_t>(group);
    if (most < rules_fast::kLeafRules) return true;
  }
  return least != std::numeric_limits<std::size_t>::max();
}

/// Gives every rule a group.
FastRules::Version::Standing FastRules::Version::choose_groups(std::span<const std::uint32_t> numbers,
                                                               std::span<const RuleWords> bits) {
  Standing standing;
  std::vector<std::uint32_t> crowd;
  std::vector<std::uint32_t> left(numbers.size());  // places in the order of ranks
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = static_cast<std::uint32_t>(i);
  const auto stand = [&](std::uint32_t place, std::span<const std::uint32_t> slots) {
    for (const std::uint32_t slot : slots) {
      ++crowd[slot];
      standing.push_back(std::uint64_t{slot} << 32 | place);
    }
  };
  const auto begin_group = [&](const RuleWords& its_bits) {
    std::size_t copies = 0;
    for (const std::uint32_t place : left) {
      rules_fast::for_each_copy(entries_[numbers[place]].match, words_, its_bits, [&](const RuleWords&) { ++copies; });
    }
    add_group(its_bits, copies);
    crowd.resize(groups_.back().first_slot + (2UL << (31 - groups_.back().shift)));
  };

  while (!left.empty() && groups_.size() < kMostGroups) {
    RuleWords its_bits{};
    if (groups_.size() < bits.size()) {
      its_bits = bits[groups_.size()];
    } else {
      std::vector<const RuleMatch*> matches;
      matches.reserve(left.size());
      for (const std::uint32_t place : left) matches.push_back(&entries_[numbers[place]].match);
      its_bits = rules_fast::choose_bits(matches, fields_);
    }
    begin_group(its_bits);
    const std::size_t group = groups_.size() - 1;
    std::vector<std::uint32_t> still_left;
    for (const std::uint32_t place : left) {
      const auto slots = find_slots(numbers[place], group);
      const bool fits = !slots.empty() && std::ranges::all_of(slots, [&](std::uint32_t slot) {
        return crowd[slot] < rules_fast::kLeafRules;
      });
      if (!fits) {
        still_left.push_back(place);
        continue;
      }
      entries_[numbers[place]].group = static_cast<std::uint16_t>(group);
      stand(place, slots);
    }
    const bool is_little = (left.size() - still_left.size()) * 64 < left.size();
    left.swap(still_left);
    if (is_little && groups_.size() >= bits.size()) break;
  }
  if (!left.empty() && std::ranges::none_of(bits_, is_none)) begin_group({});
  for (const std::uint32_t place : left) {
    choose_place(numbers[place], [&](std::uint32_t slot) { return std::size_t{crowd[slot]}; });
    stand(place, find_slots(numbers[place], entries_[numbers[place]].group));
  }
  slots_ = HugeArray<std::uint32_t>(std::max<std::size_t>(crowd.size(), 1));
  return standing;
}

/// The groups with the best rules come first, so that what these find decides about the others.
void FastRules::Version::sort_groups(std::span<const std::uint32_t> numbers) {
  chosen_bits_ = bits_;
  std::vector<std::uint16_t> order(groups_.size()), place(groups_.size());
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const Entry& entry = entries_[numbers[i]];
    groups_[entry.group].best = coarse(class_of(entry.rank));
  }
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::ranges::stable_sort(order, std::greater<>(), [this](std::uint16_t group) { return groups_[group].best; });
  const auto groups = groups_;
  for (std::size_t i = 0; i < order.size(); ++i) {
    groups_[i] = groups[order[i]];
    bits_[i] = chosen_bits_[order[i]];
    place[order[i]] = static_cast<std::uint16_t>(i);
  }
  for (const std::uint32_t number : numbers) entries_[number].group = place[entries_[number].group];
}

/// Memory, with room for half as many more.
void FastRules::Version::make_room(std::span<const std::uint32_t> numbers, const Standing& standing) {
  std::size_t others = 0;
  std::uint32_t last = 0;
  for (const std::uint32_t number : numbers) {
    last = std::max(last, number);
    others += rules_fast::box_of(entries_[number].match, fields_).is_all ? 0 : 1;
  }
  leaves_.reserve(standing.size() * 2 + 4096);  // a block for each is enough
  rules_ = HugeArray<rules_fast_rule>(std::bit_ceil(std::size_t{last} + std::size_t{last} / 2 + 1024));
  masks_ = HugeArray<rules_fast_mask>(1 + others + others / 2 + 1024);
  for (std::size_t mask = masks_.size(); mask-- > 1;) free_masks_.push_back(static_cast<std::uint32_t>(mask));
}

void FastRules::Version::fill(std::span<const std::uint32_t> numbers, Standing standing) {
  for (const std::uint32_t number : numbers) describe(number, 0);
  std::ranges::sort(standing);
  for (std::size_t begin = 0, end = 0; begin < standing.size(); begin = end) {
    leaf_.clear();
    for (; end < standing.size() && standing[end] >> 32 == standing[begin] >> 32; ++end) {
      leaf_.push_back(numbers[static_cast<std::uint32_t>(standing[end])]);
    }
    slots_[standing[begin] >> 32] = written(leaf_);
  }
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

/// Writes down what is to be known of a rule beside its leaves. False if there is no room.
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

/// A slot that leads to a new leaf of these rules, the best first. 0 if there are none, and if there is no room.
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
  return slot | (is_checked ? RULES_FAST_CHECK : 0) | coarse(best_class) << RULES_FAST_COARSE_SHIFT;
}

/// Readers who come from now on find this in the slot.
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
  if (rules_fast_group& group = groups_[entry.group]; group.best < coarse(class_of(entry.rank))) {
    std::atomic_ref(group.best).store(coarse(class_of(entry.rank)), std::memory_order_relaxed);
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

/// Leaves out the rules that are gone, and has the leaf checked no longer than that is needed. False if there is no
/// room for that.
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
