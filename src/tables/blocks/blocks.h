// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "penumbra/table.h"

namespace penumbra {

/// Elements [first, first + 2^order) of an array.
struct Block {
  std::uint32_t first = 0;
  unsigned order = 0;
};

/// An allocator of blocks of an array. Reuses a block that readers may access only after a grace period.
class Blocks {
 public:
  static constexpr unsigned kMostOrder = 15;

  /// Manages elements [begin, limit); both bounds are multiples of 2^kMostOrder. `grace_periods` must outlive the
  /// blocks.
  Blocks(GracePeriods& grace_periods, std::size_t begin, std::size_t limit)
      : grace_periods_(grace_periods), end_(begin), limit_(limit) {}

  /// Returns a block that no reader accesses, aligned to its size. May wait for a grace period. Throws
  /// std::length_error if no block is free.
  Block take(unsigned order);
  /// Frees a block that no reader has ever seen.
  void give_back(Block block) { free_[block.order].push_back(block.first); }
  /// Frees a block after the grace period of `token`. No new reader may find the block.
  void retire(Block block, std::uint64_t token) { retired_.push_back({token, block}); }

  std::size_t end() const { return end_; }  ///< end of the elements that were ever in use

 private:
  struct Retired {
    std::uint64_t token;
    Block block;
  };

  bool has(unsigned order) const;
  void reclaim(bool wait);

  GracePeriods& grace_periods_;
  std::size_t end_, limit_;
  std::array<std::vector<std::uint32_t>, kMostOrder + 1> free_;
  std::deque<Retired> retired_;  ///< in the order of their tokens
};

}  // namespace penumbra
