// SPDX-License-Identifier: Apache-2.0
//
// Generates prefixes that nest like those of the Internet, for route_generator.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "penumbra/ip.h"

namespace penumbra::control {

/// Networks of the gateways, which no generated prefix covers. RFC 2544 and RFC 5180 reserve them for benchmarks.
inline constexpr Ipv4Prefix kIpv4Gateways{{0xC6120000}, 15};
inline constexpr Ipv6Prefix kIpv6Gateways{{0x2001000200000000, 0}, 48};

/// Returns true with this probability.
inline bool chance(Random& random, double probability) {
  return static_cast<double>(random.next() >> 11) < probability * 0x1p53;
}

/// Returns `count` distinct prefixes in no order.
template <class Family>
std::vector<typename Family::Prefix> generate_prefixes(Random& random, std::uint32_t count);
template <>
std::vector<Ipv4Prefix> generate_prefixes<Ipv4>(Random& random, std::uint32_t count);
template <>
std::vector<Ipv6Prefix> generate_prefixes<Ipv6>(Random& random, std::uint32_t count);

}  // namespace penumbra::control
