// SPDX-License-Identifier: Apache-2.0
//
// The records of a structure's rules by number, and the states of the rules (rules.shader.h). This part of a RuleTable
// is independent of the search.
//
// A number is first free, and add() makes it live. remove() writes the state in which the rule ends. Readers of older
// states may need the rule until a grace period after that commit. The rule is then dead, and the structure unlinks it.
// A reader may still pass through a dead rule for another grace period. Then the number is free again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules/grace_list.h"
#include "tables/rules/rule_table.h"
#include "tables/rules/rules.shader.h"

namespace penumbra {

class RuleRecords {
 public:
  /// `dies` of rules that were not removed; no state has this number.
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  /// Number of regions of a view that append_regions() adds, in the order of Offsets.
  static constexpr std::size_t kRegions = 3;
  /// Offsets of a view's pointers to the regions.
  struct Offsets {
    std::size_t record = 0, ports = 0, state = 0;
  };
  using Unlink = std::function<void(std::uint32_t number)>;

  /// Calls `unlink` with numbers that no reader looks for any more. After `last_state` (at least 1), states restart
  /// from 0, which waits for grace periods.
  RuleRecords(GracePeriods& grace_periods, Unlink unlink, std::uint32_t last_state = kNever - 1);

  /// Returns true if the regions grew to hold this number. The caller then publishes them again before commit(). Throws
  /// std::invalid_argument if a rule cannot have this number.
  bool make_room(std::uint32_t number);
  /// Appends the kRegions regions for publication in `table`.
  void append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions);

  /// Writes the record of a rule for the next state. Call make_room() first. Waits for a grace period if the number was
  /// removed recently. Throws std::invalid_argument if a rule has the number.
  void add(std::uint32_t number, const RuleWords& value, const RuleMatch& match, std::uint64_t rank,
           std::uint32_t kind);
  /// Undoes add() for a number that nothing links.
  void forget(std::uint32_t number);
  /// Throws std::invalid_argument if no rule has the number.
  void remove(std::uint32_t number);
  /// Unlinks rules that no reader looks for any more. If `wait`, waits for all rules that were removed before the last
  /// commit. Must precede commit().
  void reclaim(bool wait = false);
  /// Switches to the next state, and announces the changes. The structure must have announced its own changes before.
  void commit();

  const rules_record& operator[](std::uint32_t number) const { return records_[number]; }
  const rules_record* data() const { return records_.data(); }
  const rules_ports* ports() const { return ports_.data(); }
  const std::uint32_t* state() const { return state_.data(); }
  /// Links the record to another record for readers.
  void set_next(std::uint32_t number, std::uint32_t next);

  std::uint32_t room() const { return room_; }  ///< numbers below it are in the regions
  std::uint32_t end() const { return end_; }    ///< one past the highest number that was ever used
  std::size_t size() const { return size_; }    ///< number of rules
  std::size_t memory_bytes() const;             ///< memory that was ever used

 private:
  enum class Use : std::uint8_t { free, live, removed, dead };

  void count_anew();
  void announce(std::uint32_t number) { record_changes_.add(*table_, number); }
  void set_state(std::uint32_t state);

  GracePeriods& grace_periods_;
  const Unlink unlink_;
  const std::uint32_t last_state_;
  HugeArray<rules_record> records_;
  HugeArray<rules_ports> ports_;
  HugeArray<Use> use_;
  alignas(64) std::array<std::uint32_t, 16> state_{};  ///< element 0 is the state; has its own cache line
  std::uint32_t room_ = 0;                             ///< numbers below it are in the regions
  std::uint32_t end_ = 1;                              ///< one past the highest number that was ever used
  std::size_t size_ = 0;
  std::vector<std::uint32_t> going_;  ///< removed since the last commit
  GraceList<std::uint32_t> removed_;  ///< a reader may still read in a state with the rule
  GraceList<std::uint32_t> dead_;     ///< unlinked, but a reader may still access it
  Table* table_ = nullptr;
  std::size_t first_region_ = 0;
  TableChanges<rules_record> record_changes_{0};
  TableChanges<rules_ports> port_changes_{0};
};

}  // namespace penumbra
