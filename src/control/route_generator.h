// SPDX-License-Identifier: Apache-2.0
//
// A routing table of any size that looks like the Internet's: for benchmarks, demonstrations and tests that must not
// depend on a file. The same options give the same table on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "control/routes.h"

namespace penumbra::control {

struct RouteGeneratorOptions {
  static constexpr std::uint32_t kMaxPrefixes = 4'000'000, kMaxIpv6Prefixes = 1'000'000;
  static constexpr std::uint32_t kMaxNextHops = 30'000;
  static constexpr std::size_t kMaxPorts = 1024;

  std::uint32_t prefixes = 900'000;  ///< exactly so many, all different; from 1 on
  std::uint32_t next_hops = 30;      ///< gateways, dealt out to the ports in turn; 1 to kMaxNextHops
  std::vector<std::string> ports{"port0", "port1", "port2", "port3"};  ///< 1 to kMaxPorts different names
  std::uint64_t seed = 1;
  double multipath_share = 0.01;      ///< of the routes have two to four weighted next hops; needs two gateways
  double blackhole_share = 0.0005;    ///< of the routes are `blackhole`
  double unreachable_share = 0.0005;  ///< of the routes are `unreachable`
};

template <class Family>
struct GeneratedTableOf {
  RouteListOf<Family> routes;                   ///< sorted by prefix
  std::vector<NeighbourOf<Family>> neighbours;  ///< one for every gateway
};
using GeneratedTable = GeneratedTableOf<Ipv4>;

/// Makes a table. Prefix lengths are distributed as in the table of 2025 (with 0.1% longer than /24), prefixes lie in
/// the unicast space that is really used, about half of them inside a shorter one, many in runs of neighbouring ones.
/// Gateways lie in 198.18.0.0/15 (RFC 2544), which no prefix covers: the block is cut into one network a port, equal
/// and a power of two large, whose address 1 is left for the router. Likewise of IPv6 (with 0.05% at /128): gateways
/// lie in 2001:2::/48 (RFC 5180), a /64 a port. Throws std::invalid_argument for options out of range.
template <class Family = Ipv4>
GeneratedTableOf<Family> generate_routes(const RouteGeneratorOptions& options);

}  // namespace penumbra::control
