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

/// Which blocks of an array are in use. One that readers may be in is used anew only after a grace period.
class Blocks {
 public:
  static constexpr unsigned kMostOrder = 15;

  /// Of elements [begin, limit); both are multiples of 2^kMostOrder. `grace_periods` outlives it.
  Blocks(GracePeriods& grace_periods, std::size_t begin, std::size_t limit)
      : grace_periods_(grace_periods), end_(begin), limit_(limit) {}

  /// A block that no reader is in, aligned to its size. May wait for a grace period. Throws std::length_error if there
  /// is none.
  Block take(unsigned order);
  /// Gives back what no reader has come to.
  void give_back(Block block) { free_[block.order].push_back(block.first); }
  /// Gives back what no new reader comes to.
  void retire(Block block, std::uint64_t token) { retired_.push_back({token, block}); }

  std::size_t end() const { return end_; }  ///< behind the last element that was ever in use

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
