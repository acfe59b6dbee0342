// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

namespace penumbra::ids {

/// The numbers from `low` to `high`, both included, or all others.
struct Interval {
  std::uint64_t low = 0;
  std::uint64_t high = std::numeric_limits<std::uint64_t>::max();
  bool negated = false;

  bool contains(std::uint64_t value) const { return (value >= low && value <= high) != negated; }
  bool operator==(const Interval&) const = default;
};

}  // namespace penumbra::ids
