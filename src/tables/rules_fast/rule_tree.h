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

/// A class as slots have it.
inline std::uint32_t coarse(std::uint32_t its_class) {
  static_assert(RULES_FAST_CLASSES == 1 << 12);
  return its_class >> (12 - (32 - RULES_FAST_COARSE_SHIFT));
}

}  // namespace rules_fast

/// One version of the lookup structure: the groups stay as they are, rules come and go.
///
/// What a commit adds is born in the state that the commit makes; what it takes out dies in it. Both are in their
/// leaves from before that state is counted until after a grace period behind it, and the leaves' slots say that they
/// are to be checked. Leaves are written anew and exchanged by their slots.
class FastRules::Version {
 public:
  /// Of these rules, the best first, with their ranks; groups over `bits` if there are any, otherwise over what is
  /// best, as far as `care` goes.
  Version(RuleFields fields, std::uint64_t seed, GracePeriods& grace_periods, std::vector<Entry>& entries,
          std::span<const std::uint32_t> numbers, std::span<const RuleWords> bits, rules_fast::Care care);

  void publish_to(Table& table);

  /// For the state to come. False if there is no place, which a new version has.
  bool add(std::uint32_t number);
  void let_die(std::uint32_t number);
  /// The state to come has come.
  void commit();
  /// Clears away what no reader needs any more; with `wait`, everything.
  void tidy(bool wait);

  /// Whether a new version would be better, and whether its groups should be chosen anew.
  bool is_worn() const;
  bool is_out_of_date() const { return displaced_since_ > 256 + placed_at_first_ / 16; }
  /// Of its groups, as they were chosen.
  const std::vector<RuleWords>& bits() const { return chosen_bits_; }
  std::size_t bytes() const;

 private:
  enum Region : std::uint8_t { kGroups, kSlots, kBlocks, kRules, kMasks, kState };
  /// What a grace period is waited for with.
  struct Debris {
    std::vector<std::uint32_t> slots;  ///< with rules that came or died
    std::vector<std::uint32_t> born, dead;
    bool is_empty() const { return slots.empty() && born.empty() && dead.empty(); }
  };
  /// Where rules are to stand: a slot's number above a place in the order of ranks.
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
  /// To look into a leaf that every key comes to costs as much as into so many others.
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
  std::vector<std::uint64_t> thresholds_;  ///< ranks from which on the next class begins
  HugeArray<std::uint32_t> slots_;
  rules_fast::Leaves leaves_;
  HugeArray<rules_fast_rule> rules_;
  HugeArray<rules_fast_mask> masks_;
  std::vector<std::uint32_t> free_masks_;
  alignas(64) std::array<std::uint32_t, 16> state_{1};  ///< the first counts; a line of its own
  rules_fast_view view_{};
  Table* table_ = nullptr;

  std::size_t placed_at_first_ = 0, added_since_ = 0, displaced_since_ = 0;
  bool is_full_ = false;  ///< what is dead cannot be cleared away
  Debris fresh_, waiting_;
  std::uint64_t period_ = 0;                                    ///< of what waits
  std::array<std::uint32_t, rules_fast::kMostCopies> found_{};  ///< by find_slots()
  std::vector<rules_fast::Row> rows_;
  std::vector<std::uint32_t> leaf_;  ///< a leaf's rules

  TableChanges<rules_fast_group> group_changes_{kGroups};
  TableChanges<std::uint32_t> slot_changes_{kSlots};
  TableChanges<rules_fast_rule> rule_changes_{kRules};
  TableChanges<rules_fast_mask> mask_changes_{kMasks};
};

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
    if (most >= rules_fast::kLeafRules && bits_[group] == RuleWords{}) most *= kEveryKeyCosts;
    if (most >= least) continue;
    least = most;
    entries_[number].group = static_cast<std::uint16_t>(group);
    if (most < rules_fast::kLeafRules) return true;
  }
  return least != std::numeric_limits<std::size_t>::max();
}

}  // namespace penumbra
