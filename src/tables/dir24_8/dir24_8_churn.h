// SPDX-License-Identifier: Apache-2.0
//
// Provides prefixes for tests of lookups during changes of an IPv4 table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "dir24_8_testing.h"
#include "tables/churn_script.h"

namespace penumbra::dir24_8_testing {

inline constexpr std::size_t kChurn = 1'000'000;  ///< Changes of a test.

/// Returns prefixes of each length from 4 to 32. Short prefixes are few, as in real tables.
inline std::vector<Ipv4Prefix> churn_pool() {
  constexpr std::uint32_t kRegion = 0x0A000000;  // 10.0.0.0/12, a small region so that prefixes overlap
  constexpr unsigned kRegionLength = 12;
  Random random(5);
  std::vector<Ipv4Prefix> pool;
  for (unsigned length = 4; length <= 32; ++length) {
    const std::size_t most = length < 24 ? 400 : length == 24 ? 3'000 : 1'500;
    const std::size_t all = length <= kRegionLength ? 1 : std::size_t{1} << (length - kRegionLength);
    for (std::size_t i = 0; i < std::min(all, most); ++i) {
      pool.push_back(prefix_of(kRegion | static_cast<std::uint32_t>(random.next() >> (32 + kRegionLength)), length));
    }
  }
  return pool;
}

}  // namespace penumbra::dir24_8_testing
