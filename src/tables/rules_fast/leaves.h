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

/// A rule as in leaves.
struct Row {
  std::array<std::uint16_t, RULES_FAST_WIDE_LANES> low{}, span{};
  std::uint32_t entry = 0;
};

/// The smallest box around the keys that a rule matches. `is_all` is true if the rule matches every key in the box.
struct Box {
  Row row;
  bool is_all = true;
};
Box box_of(const RuleMatch& match, RuleFields fields);

/// The blocks of one array, and the leaves in them.
class Leaves {
 public:
  /// `grace_periods` must outlive the leaves.
  Leaves(RuleFields fields, GracePeriods& grace_periods)
      : is_wide_(fields != RuleFields::ipv4), grace_(grace_periods) {}

  /// Allocates `blocks` blocks. Must be the first call.
  void reserve(std::size_t blocks);
  /// Returns the number of blocks of a leaf of `rules` rules, rounded up to an allocation size.
  static std::size_t blocks_for(std::size_t rules);

  /// Writes a leaf of at least one rule. Returns the part of its slot that gives place and length, or 0 if memory is
  /// exhausted.
  std::uint32_t write(std::span<const Row> rows);
  /// Frees the leaf of a slot after a grace period. No new reader may find it.
  void retire(std::uint32_t slot) { fresh_.push_back(slot); }
  /// Appends the entries of the slot's leaf, in order.
  void read(std::uint32_t slot, std::vector<std::uint32_t>& entries) const;
  /// Frees leaves that no reader accesses any more.
  void reclaim(bool wait);

  const rules_fast_narrow_block* narrow() const;
  const rules_fast_wide_block* wide() const;
  std::size_t region_bytes() const { return memory_.bytes(); }
  std::size_t used_bytes() const { return end_ * block_bytes(); }
  std::size_t block_bytes() const { return is_wide_ ? sizeof(rules_fast_wide_block) : sizeof(rules_fast_narrow_block); }

  /// Announces all later changes of the blocks as changes of this region.
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
  std::size_t end_ = 1, limit_ = 0;  ///< block 0 belongs to no leaf
  std::array<std::vector<std::uint32_t>, kSizes> free_;
  std::vector<std::uint32_t> fresh_, waiting_;
  std::uint64_t period_ = 0;
  Table* table_ = nullptr;
  TableChanges<rules_fast_narrow_block> narrow_changes_{0};
  TableChanges<rules_fast_wide_block> wide_changes_{0};
};

}  // namespace penumbra::rules_fast
