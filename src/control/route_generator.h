// SPDX-License-Identifier: Apache-2.0
//
// Generates routing tables of any size that resemble the Internet's, for benchmarks, demonstrations and tests that must
// not depend on a file. The same options give the same table on every machine.
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

  std::uint32_t prefixes = 900'000;  ///< Number of distinct prefixes, at least 1.
  std::uint32_t next_hops = 30;      ///< Number of gateways, assigned to the ports in turn; 1 to kMaxNextHops.
  std::vector<std::string> ports{"port0", "port1", "port2", "port3"};  ///< 1 to kMaxPorts different names.
  std::uint64_t seed = 1;
  double multipath_share = 0.01;      ///< Share of routes with two to four weighted next hops; needs two gateways.
  double blackhole_share = 0.0005;    ///< Share of `blackhole` routes.
  double unreachable_share = 0.0005;  ///< Share of `unreachable` routes.
};

template <class Family>
struct GeneratedTableOf {
  RouteListOf<Family> routes;                   ///< Sorted by prefix.
  std::vector<NeighbourOf<Family>> neighbours;  ///< One for each gateway.
};
using GeneratedTable = GeneratedTableOf<Ipv4>;

/// Generates a table. The prefix lengths are distributed as in a full table of 2025 (IPv4: 0.1% longer than /24; IPv6:
/// 0.05% at /128). The prefixes lie in the unicast space in real use. About half of them lie inside a shorter one, and
/// many form runs of neighbours.
///
/// IPv4 gateways lie in 198.18.0.0/15 (RFC 2544), which no prefix covers. The block is split into equal networks of a
/// power of two, one for each port; address 1 of each is reserved for the router. IPv6 gateways lie in 2001:2::/48 (RFC
/// 5180), with a /64 for each port.
///
/// Throws std::invalid_argument for options out of range.
template <class Family = Ipv4>
GeneratedTableOf<Family> generate_routes(const RouteGeneratorOptions& options);

}  // namespace penumbra::control
