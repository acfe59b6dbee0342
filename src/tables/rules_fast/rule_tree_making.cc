// SPDX-License-Identifier: Apache-2.0
//
// Makes a version of a known set of rules.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tables/rules_fast/copies.h"
#include "tables/rules_fast/rule_tree.h"

namespace penumbra {
namespace {

constexpr std::size_t kMostGroups = 32;
/// Minimum number of slots per copy of a rule, so that most slots without a match are empty.
constexpr std::size_t kSlotsPerRule = 2;
constexpr unsigned kLeastSlotBits = 4, kMostSlotBits = 25;

bool is_none(const RuleWords& bits) {
  return bits == RuleWords{};
}

}  // namespace

FastRules::Version::Version(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods,
                            std::vector<Entry>& entries, std::span<const std::uint32_t> numbers,
                            std::span<const RuleWords> bits, rules_fast::Care care)
    : fields_(fields),
      words_(words_of(fields)),
      care_(care),
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
  if (groups_.empty()) groups_.emplace_back();  // no reader reads it, but a region needs an address
}

/// Ranks that divide the rules into equal parts: as many as there are classes, less one for what is below all of them.
void FastRules::Version::find_classes(std::span<const std::uint32_t> numbers) {
  const std::size_t count = std::min<std::size_t>(numbers.size(), RULES_FAST_CLASSES - 2);
  for (std::size_t i = count; i-- > 0;) {
    thresholds_.push_back(entries_[numbers[i * numbers.size() / count]].rank);
  }
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

/// Assigns each rule to a group.
FastRules::Version::Standing FastRules::Version::choose_groups(std::span<const std::uint32_t> numbers,
                                                               std::span<const RuleWords> bits) {
  Standing standing;
  std::vector<std::uint32_t> crowd;
  std::vector<std::uint32_t> left(numbers.size());  // indices in the order of ranks
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
      its_bits = rules_fast::choose_bits(matches, fields_, care_);
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

/// Sorts the groups by their best rules, so that early results make later groups unnecessary.
void FastRules::Version::sort_groups(std::span<const std::uint32_t> numbers) {
  chosen_bits_ = bits_;
  std::vector<std::uint16_t> order(groups_.size()), place(groups_.size());
  for (std::size_t i = numbers.size(); i-- > 0;) {
    const Entry& entry = entries_[numbers[i]];
    groups_[entry.group].best = rules_fast::coarse(class_of(entry.rank));
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

/// Allocates memory for the rules and half as many more.
void FastRules::Version::make_room(std::span<const std::uint32_t> numbers, const Standing& standing) {
  std::size_t others = 0;
  std::uint32_t last = 0;
  for (const std::uint32_t number : numbers) {
    last = std::max(last, number);
    others += rules_fast::box_of(entries_[number].match, fields_).is_all ? 0 : 1;
  }
  leaves_.reserve(standing.size() * 2 + 4096);  // one block per copy is enough
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

}  // namespace penumbra
