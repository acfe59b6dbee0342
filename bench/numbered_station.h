// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tables/l2/stations.h"

namespace penumbra::bench {

/// Returns distinct stations in VLAN 1 for distinct numbers below 2^40.
inline Station numbered_station(std::uint64_t number) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << 40) - 1;
  std::uint64_t x = number * 0x9E3779B97FU & kMask;
  x ^= x >> 20;
  return {1, {std::uint64_t{2} << 40 | x}};
}

}  // namespace penumbra::bench
