// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules_fast/copies.h"
#include "tables/rules_fast/fast_rules.h"
#include "tables/rules_fast/leaves.h"
#include "tables/rules_fast/plan.h"
#include "tables/rules_fast/rules_fast.shader.h"

namespace penumbra {

namespace rules_fast {

/// Returns the upper bits of a rank class, as slots have them.
inline std::uint32_t coarse(std::uint32_t its_class) {
  static_assert(RULES_FAST_CLASSES == 1 << 12);
  return its_class >> (12 - (32 - RULES_FAST_COARSE_SHIFT));
}

}  // namespace rules_fast

/// A version of the lookup structure: its groups are fixed, and rules are added and removed.
///
/// A commit makes a new state. Added rules are born in the new state, and removed rules die in it. Both are in their
/// leaves from before the new state until a grace period after it. Meanwhile, the slots of those leaves have the check
/// flag. A changed leaf is written to new blocks, and its slot then replaces the old leaf.
class FastRules::Version {
 public:
  /// Makes a version of the rules `numbers`, best first. Groups use `bits` if it is not empty, otherwise the best bits
  /// for the effort of `care`.
  Version(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods, std::vector<Entry>& entries,
          std::span<const std::uint32_t> numbers, std::span<const RuleWords> bits, rules_fast::Care care);

  void publish_to(Table& table);

  /// Adds a rule in the next state. Returns false if it does not fit; a new version has room.
  bool add(std::uint32_t number);
  void let_die(std::uint32_t number);
  /// Switches to the next state.
  void commit();
  /// Frees memory that no reader needs any more. If `wait`, waits until this is true of all freed memory.
  void tidy(bool wait);

  /// Return true if a new version would be better, and if the groups of a new version should be chosen again.
  bool is_worn() const;
  bool is_out_of_date() const { return displaced_since_ > 256 + placed_at_first_ / 16; }
  /// Returns the bits of the groups in the order in which they were chosen.
  const std::vector<RuleWords>& bits() const { return chosen_bits_; }
  std::size_t bytes() const;

 private:
  enum Region : std::uint8_t { kGroups, kSlots, kBlocks, kRules, kMasks, kState };
  /// Changes that wait for a grace period.
  struct Debris {
    std::vector<std::uint32_t> slots;  ///< with rules that were added or removed
    std::vector<std::uint32_t> born, dead;
    bool is_empty() const { return slots.empty() && born.empty() && dead.empty(); }
  };
  /// Placements of rules: a slot number in the upper half, and an index in the order of ranks in the lower half.
  using Standing = std::vector<std::uint64_t>;

  Standing choose_groups(std::span<const std::uint32_t> numbers, std::span<const RuleWords> bits);
  void add_group(const RuleWords& bits, std::size_t copies);
  void find_classes(std::span<const std::uint32_t> numbers);
  void sort_groups(std::span<const std::uint32_t> numbers);
  void make_room(std::span<const std::uint32_t> numbers, const Standing& standing);
  void fill(std::span<const std::uint32_t> numbers, Standing standing);
  bool describe(std::uint32_t number, std::uint32_t born);
  std::uint32_t class_of(std::uint64_t rank) const;
  std::span<const std::uint32_t> find_slots(std::uint32_t number, std::size_t group);
  /// Reading a leaf that every key reads costs as much as reading this many other leaves.
  static constexpr std::size_t kEveryKeyCosts = 8;
  template <class Crowd>
  bool choose_place(std::uint32_t number, Crowd crowd);
  std::uint32_t written(std::span<const std::uint32_t> numbers);
  void exchange(std::uint32_t slot, std::uint32_t after);
  bool tidy_slot(std::uint32_t slot);

  const RuleFields fields_;
  const std::size_t words_;
  const rules_fast::Care care_;
  std::uint64_t seed_;
  GracePeriods& grace_periods_;
  std::vector<Entry>& entries_;
  std::vector<RuleWords> bits_, chosen_bits_;
  std::vector<rules_fast_group> groups_;
  std::vector<std::uint64_t> thresholds_;  ///< lowest ranks of the rank classes
  HugeArray<std::uint32_t> slots_;
  rules_fast::Leaves leaves_;
  HugeArray<rules_fast_rule> rules_;
  HugeArray<rules_fast_mask> masks_;
  std::vector<std::uint32_t> free_masks_;
  alignas(64) std::array<std::uint32_t, 16> state_{1};  ///< element 0 is the state; has its own cache line
  rules_fast_view view_{};
  Table* table_ = nullptr;

  std::size_t placed_at_first_ = 0, added_since_ = 0, displaced_since_ = 0;
  bool is_full_ = false;  ///< dead rules cannot be removed
  Debris fresh_, waiting_;
  std::uint64_t period_ = 0;                                    ///< of `waiting_`
  std::array<std::uint32_t, rules_fast::kMostCopies> found_{};  ///< result of find_slots()
  std::vector<rules_fast::Row> rows_;
  std::vector<std::uint32_t> leaf_;  ///< the rules of a leaf

  TableChanges<rules_fast_group> group_changes_{kGroups};
  TableChanges<std::uint32_t> slot_changes_{kSlots};
  TableChanges<rules_fast_rule> rule_changes_{kRules};
  TableChanges<rules_fast_mask> mask_changes_{kMasks};
};

/// Chooses the group of a rule: the first whose leaves have room, otherwise the least crowded one. crowd(slot) returns
/// the number of rules in a leaf. Returns false if no group can hold the rule.
template <class Crowd>
bool FastRules::Version::choose_place(std::uint32_t number, Crowd crowd) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t group = 0; group < bits_.size(); ++group) {
    std::size_t most = 0;
    const auto slots = find_slots(number, group);
    if (slots.empty()) continue;
    for (const std::uint32_t slot : slots) most = std::max(most, crowd(slot));
    if (most >= rules_fast::kLeafRules && bits_[group] == RuleWords{}) most *= kEveryKeyCosts;
    if (most >= least) continue;
    least = most;
    entries_[number].group = static_cast<std::uint16_t>(group);
    if (most < rules_fast::kLeafRules) return true;
  }
  return least != std::numeric_limits<std::size_t>::max();
}

}  // namespace penumbra
