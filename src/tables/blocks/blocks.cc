// SPDX-License-Identifier: Apache-2.0
#include "tables/blocks/blocks.h"

#include <stdexcept>

namespace penumbra {

/// Returns true if a block of this order, or of a higher order to split, is free.
bool Blocks::has(unsigned order) const {
  for (; order <= kMostOrder; ++order) {
    if (!free_[order].empty()) return true;
  }
  return false;
}

Block Blocks::take(unsigned order) {
  if (free_[order].empty()) reclaim(false);
  if (!has(order) && end_ == limit_) reclaim(true);
  if (!has(order)) {
    if (end_ == limit_) throw std::length_error("no room is left");
    give_back({static_cast<std::uint32_t>(end_), kMostOrder});
    end_ += std::size_t{1} << kMostOrder;
  }
  unsigned from = order;
  while (free_[from].empty()) ++from;
  const std::uint32_t first = free_[from].back();
  free_[from].pop_back();
  while (from > order) {
    --from;
    give_back({first + (std::uint32_t{1} << from), from});
  }
  return {first, order};
}

/// Frees retired blocks that no reader can access any more. If `wait`, waits until all retired blocks are free.
void Blocks::reclaim(bool wait) {
  while (!retired_.empty() && grace_periods_.elapsed(retired_.front().token, wait)) {
    give_back(retired_.front().block);
    retired_.pop_front();
  }
}

}  // namespace penumbra
