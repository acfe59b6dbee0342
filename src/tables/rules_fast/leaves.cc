// SPDX-License-Identifier: Apache-2.0
#include "tables/rules_fast/leaves.h"

#include <algorithm>
#include <bit>

namespace penumbra::rules_fast {
namespace {

constexpr std::size_t kRows = RULES_FAST_OF_A_BLOCK;

/// Returns a row that matches no key, because every key has a lane of 0. A narrow key has it below the protocol. A wide
/// key has it in word 3 or word 4.
constexpr Row nothing() {
  Row row;
  row.low.fill(0xFFFF);
  return row;
}

}  // namespace

Box box_of(const RuleMatch& match, RuleFields fields) {
  Box box;
  const std::size_t words = words_of(fields);
  for (std::size_t lane = 0; lane < words * 4; ++lane) {
    const auto open = static_cast<std::uint16_t>(~(match.mask[lane / 4] >> (lane % 4 * 16)));
    box.row.low[lane] = static_cast<std::uint16_t>(match.value[lane / 4] >> (lane % 4 * 16));
    box.row.span[lane] = open;
    if ((open & (open + 1)) != 0) box.is_all = false;
  }
  const auto narrow_down = [&](const PortRange& range, unsigned shift) {
    if (range.is_all()) return;
    const std::size_t lane = words * 4 - 4 + shift / 16;
    if (box.row.span[lane] != 0xFFFF) box.is_all = false;
    box.row.low[lane] = range.first;
    box.row.span[lane] = static_cast<std::uint16_t>(range.last - range.first);
  };
  narrow_down(match.source_ports, kSourcePortShift);
  narrow_down(match.destination_ports, kDestinationPortShift);
  return box;
}

std::size_t Leaves::blocks_for(std::size_t rules) {
  const std::size_t blocks = (rules + kRows - 1) / kRows;
  return blocks <= 2 ? blocks : std::bit_ceil(rules / kRows + 1);
}

/// Returns the free list of runs of `blocks` blocks, a power of two.
std::vector<std::uint32_t>& Leaves::free_for(std::size_t blocks) {
  return free_[static_cast<std::size_t>(std::bit_width(blocks))];
}

void Leaves::reserve(std::size_t blocks) {
  limit_ = std::min<std::size_t>(blocks + 1, RULES_FAST_BLOCK_MASK + std::size_t{1});
  memory_ = HugeMemory(limit_ * block_bytes());
}

std::uint32_t Leaves::take(std::size_t count) {
  std::vector<std::uint32_t>& free = free_for(count);
  if (free.empty()) reclaim(false);
  if (!free.empty()) {
    const std::uint32_t block = free.back();
    free.pop_back();
    return block;
  }
  if (end_ + count > limit_) return 0;
  end_ += count;
  return static_cast<std::uint32_t>(end_ - count);
}

std::uint32_t Leaves::write(std::span<const Row> rows) {
  const std::size_t blocks = blocks_for(rows.size());
  const std::uint32_t block = take(blocks);
  if (block == 0) return 0;
  const bool is_short = blocks <= 2;
  for (std::size_t i = 0; i < (is_short ? blocks : rows.size() / kRows + 1); ++i) {
    const auto begin = std::min(i * kRows, rows.size());
    write_block(block + i, rows.subspan(begin, std::min(kRows, rows.size() - begin)));
  }
  if (blocks == 1) return block;
  return block | (is_short ? RULES_FAST_TWO_BLOCKS : RULES_FAST_MANY_BLOCKS);
}

void Leaves::write_block(std::size_t number, std::span<const Row> rows) {
  constexpr Row kNothing = nothing();
  for (std::size_t i = 0; i < kRows; ++i) {
    const Row& row = i < rows.size() ? rows[i] : kNothing;
    if (is_wide_) {
      auto& block = reinterpret_cast<rules_fast_wide_block*>(memory_.data())[number];
      std::ranges::copy(row.low, block.low[i]);
      std::ranges::copy(row.span, block.span[i]);
      block.entry[i] = row.entry;
    } else {
      auto& block = reinterpret_cast<rules_fast_narrow_block*>(memory_.data())[number];
      std::copy_n(row.low.begin(), RULES_FAST_NARROW_LANES, block.low[i]);
      std::copy_n(row.span.begin(), RULES_FAST_NARROW_LANES, block.span[i]);
      block.low[i][RULES_FAST_ENTRY_LANE] = static_cast<std::uint16_t>(row.entry);
      block.span[i][RULES_FAST_ENTRY_LANE] = static_cast<std::uint16_t>(row.entry >> 16);
    }
  }
  if (table_ == nullptr) return;
  if (is_wide_) {
    wide_changes_.add(*table_, number);
  } else {
    narrow_changes_.add(*table_, number);
  }
}

std::uint32_t Leaves::entry(std::size_t block, std::size_t row) const {
  if (is_wide_) return wide()[block].entry[row];
  return rules_fast_entry(&narrow()[block], static_cast<std::uint32_t>(row));
}

void Leaves::read(std::uint32_t slot, std::vector<std::uint32_t>& entries) const {
  if (slot == 0) return;
  std::size_t most = (slot & RULES_FAST_TWO_BLOCKS) != 0 ? 2 * kRows : kRows;
  if ((slot & RULES_FAST_MANY_BLOCKS) != 0) most = limit_ * kRows;
  const std::size_t first = slot & RULES_FAST_BLOCK_MASK;
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint32_t its_entry = entry(first + i / kRows, i % kRows);
    if (its_entry == 0) return;
    entries.push_back(its_entry);
  }
}

void Leaves::reclaim(bool wait) {
  for (;;) {
    if (waiting_.empty()) {
      if (fresh_.empty()) return;
      waiting_.swap(fresh_);
      period_ = grace_.start();
    }
    if (!grace_.elapsed(period_, wait)) return;
    for (const std::uint32_t slot : waiting_) {
      std::vector<std::uint32_t> entries;
      read(slot, entries);
      free_for(blocks_for(entries.size())).push_back(slot & RULES_FAST_BLOCK_MASK);
    }
    waiting_.clear();
  }
}

const rules_fast_narrow_block* Leaves::narrow() const {
  return is_wide_ ? nullptr : reinterpret_cast<const rules_fast_narrow_block*>(memory_.data());
}
const rules_fast_wide_block* Leaves::wide() const {
  return is_wide_ ? reinterpret_cast<const rules_fast_wide_block*>(memory_.data()) : nullptr;
}

void Leaves::announce_to(Table& table, std::size_t region) {
  table_ = &table;
  narrow_changes_ = TableChanges<rules_fast_narrow_block>(region);
  wide_changes_ = TableChanges<rules_fast_wide_block>(region);
}

void Leaves::flush() {
  if (table_ == nullptr) return;
  narrow_changes_.flush(*table_);
  wide_changes_.flush(*table_);
}

}  // namespace penumbra::rules_fast
