// SPDX-License-Identifier: Apache-2.0
//
// The leaves of rules_fast.shader.h: rows of rules in blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "penumbra/huge_memory.h"
#include "penumbra/rule.h"
#include "penumbra/table.h"
#include "penumbra/table_changes.h"
#include "tables/rules_fast/rules_fast.shader.h"

namespace penumbra::rules_fast {

/// A rule as leaves have it.
struct Row {
  std::array<std::uint16_t, RULES_FAST_WIDE_LANES> low{}, span{};
  std::uint32_t entry = 0;
};

/// The box around what a rule matches; and whether it is nothing else.
struct Box {
  Row row;
  bool is_all = true;
};
Box box_of(const RuleMatch& match, RuleFields fields);

/// Blocks of one array, and what leaves are in them.
class Leaves {
 public:
  /// `grace_periods` outlives it.
  Leaves(RuleFields fields, GracePeriods& grace_periods)
      : is_wide_(fields != RuleFields::ipv4), grace_(grace_periods) {}

  /// Makes room for so many blocks; before anything else.
  void reserve(std::size_t blocks);
  /// How many blocks a leaf of so many rules takes, with those that make it a size that is kept.
  static std::size_t blocks_for(std::size_t rules);

  /// Writes a leaf of at least one rule, and returns the part of its slot that says where it is and how long; 0 if
  /// there is no room.
  std::uint32_t write(std::span<const Row> rows);
  /// No new reader comes to the slot's leaf.
  void retire(std::uint32_t slot) { fresh_.push_back(slot); }
  /// Appends the entries of the slot's leaf, in order.
  void read(std::uint32_t slot, std::vector<std::uint32_t>& entries) const;
  /// Takes back what no reader is in any more.
  void reclaim(bool wait);

  const rules_fast_narrow_block* narrow() const;
  const rules_fast_wide_block* wide() const;
  std::size_t region_bytes() const { return memory_.bytes(); }
  std::size_t used_bytes() const { return end_ * block_bytes(); }
  std::size_t block_bytes() const { return is_wide_ ? sizeof(rules_fast_wide_block) : sizeof(rules_fast_narrow_block); }

  /// From now on changes of the blocks are announced, as of this region.
  void announce_to(Table& table, std::size_t region);
  void flush();

 private:
  static constexpr std::size_t kSizes = 32;

  std::vector<std::uint32_t>& free_for(std::size_t blocks);
  std::uint32_t take(std::size_t count);
  void write_block(std::size_t block, std::span<const Row> rows);
  std::uint32_t entry(std::size_t block, std::size_t row) const;

  const bool is_wide_;
  GracePeriods& grace_;
  HugeMemory memory_;
  std::size_t end_ = 1, limit_ = 0;  ///< block 0 is no leaf's
  std::array<std::vector<std::uint32_t>, kSizes> free_;
  std::vector<std::uint32_t> fresh_, waiting_;
  std::uint64_t period_ = 0;
  Table* table_ = nullptr;
  TableChanges<rules_fast_narrow_block> narrow_changes_{0};
  TableChanges<rules_fast_wide_block> wide_changes_{0};
};

}  // namespace penumbra::rules_fast
