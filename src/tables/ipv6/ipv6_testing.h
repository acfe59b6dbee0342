// SPDX-License-Identifier: Apache-2.0
//
// Provides helpers for the tests of all IPv6 tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/prefix_oracle.h"
#include "base/random.h"
#include "penumbra/table.h"
#include "tables/ipv6/ipv6_lookup.h"
#include "tables/prefix_testing.h"

namespace penumbra::ipv6_testing {

/// Returns an empty table of the structure under test. Each test program defines it.
std::unique_ptr<Ipv6Lookup> make_table(GracePeriods& grace_periods);

using Oracle = PrefixOracle<Ipv6, Ipv6Entry>;

inline Ipv6Address address(const char* text) {
  return parse_ipv6_address(text).value();
}
inline Ipv6Prefix prefix(const char* text) {
  return parse_ipv6_prefix(text).value();
}

/// Returns overlapping prefixes of all lengths. Each is random or shares leading bits with an earlier one.
inline std::vector<Ipv6Prefix> nested_prefixes(std::size_t count, Random& random) {
  std::vector<Ipv6Prefix> prefixes;
  while (prefixes.size() < count) {
    Ipv6Address bits{random.next(), random.next()};
    if (!prefixes.empty() && random.below(16) != 0) {
      const Ipv6Prefix outer = prefixes[random.below(static_cast<std::uint32_t>(prefixes.size()))];
      const Ipv6Address mask = Ipv6Prefix{{}, static_cast<std::uint8_t>(random.below(129))}.mask();
      bits = {(outer.address.high & mask.high) | (bits.high & ~mask.high),
              (outer.address.low & mask.low) | (bits.low & ~mask.low)};
    }
    prefixes.push_back(Ipv6Prefix::around(bits, random.below(129)));
  }
  return prefixes;
}

}  // namespace penumbra::ipv6_testing
