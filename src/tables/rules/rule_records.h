// SPDX-License-Identifier: Apache-2.0
//
// The records of a structure's rules by their numbers, and the states that these count in (rules.shader.h): the part of
// a RuleTable that is the same however rules are found.
//
// A number's way: free, then live with add(). remove() writes down with which state the rule dies; readers of older
// states may want it until a grace period after that commit. Then it is dead: the structure is told, and unlinks it
// from whatever leads there. Who was on the way through it may still be, for another grace period; then the number is
// free.
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
  /// Of rules that were not taken out, in `dies`: no state's number.
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();
  /// Regions of a view, in this order.
  static constexpr std::size_t kRegions = 3;
  /// Where a view's pointers to them stand.
  struct Offsets {
    std::size_t record = 0, ports = 0, state = 0;
  };
  using Unlink = std::function<void(std::uint32_t number)>;

  /// `unlink` is told of numbers that no reader looks for any more. After `last_state` (at least 1) states are counted
  /// from 0 again, which waits for grace periods.
  RuleRecords(GracePeriods& grace_periods, Unlink unlink, std::uint32_t last_state = kNever - 1);

  /// Whether the regions have grown so that they hold this number: then they are to be published anew before commit().
  /// Throws std::invalid_argument if it is no rule's number.
  bool make_room(std::uint32_t number);
  /// For publishing: they are regions `first` to `first` + kRegions - 1 of this table from now on.
  void append_regions(Table& table, const Offsets& offsets, std::vector<TableRegion>& regions);

  /// Writes a rule's record, for the state to come; make_room() comes before. Waits for a grace period if the number
  /// was taken out less than that before. Throws std::invalid_argument if a rule has it.
  void add(std::uint32_t number, const RuleWords& value, const RuleMatch& match, std::uint64_t rank,
           std::uint32_t kind);
  /// add() was not meant: nothing leads there.
  void forget(std::uint32_t number);
  /// Throws std::invalid_argument if no rule has the number.
  void remove(std::uint32_t number);
  /// Unlinks what no reader looks for any more; with `wait`, all that was removed before the last commit. To be called
  /// before commit().
  void reclaim(bool wait = false);
  /// Goes over to the next state: what was changed here is announced, after what the structure has announced.
  void commit();

  const rules_record& operator[](std::uint32_t number) const { return records_[number]; }
  const rules_record* data() const { return records_.data(); }
  const rules_ports* ports() const { return ports_.data(); }
  const std::uint32_t* state() const { return state_.data(); }
  /// Leads readers of this record on to another.
  void set_next(std::uint32_t number, std::uint32_t next);

  std::uint32_t room() const { return room_; }  ///< numbers below it are in the regions
  std::uint32_t end() const { return end_; }    ///< one past the highest number that was ever used
  std::size_t size() const { return size_; }    ///< rules
  std::size_t memory_bytes() const;             ///< of what was ever in use

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
  alignas(64) std::array<std::uint32_t, 16> state_{};  ///< the first counts; a line of its own
  std::uint32_t room_ = 0;                             ///< numbers below it are in the regions
  std::uint32_t end_ = 1;                              ///< one past the highest number that was ever used
  std::size_t size_ = 0;
  std::vector<std::uint32_t> going_;  ///< removed since the last commit
  GraceList<std::uint32_t> removed_;  ///< of states that somebody may still be reading in
  GraceList<std::uint32_t> dead_;     ///< unlinked, but somebody may be there
  Table* table_ = nullptr;
  std::size_t first_region_ = 0;
  TableChanges<rules_record> record_changes_{0};
  TableChanges<rules_ports> port_changes_{0};
};

}  // namespace penumbra
