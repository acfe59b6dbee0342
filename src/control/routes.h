// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes files of routes and neighbours in the syntax of iproute2. The form in memory is compact: a full
// table has a million routes but a few dozen different sets of next hops.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penumbra/errors.h"
#include "penumbra/ip.h"

namespace penumbra::control {

/// Describes one next hop of a route.
template <class Family>
struct NextHopOf {
  std::optional<typename Family::Address> gateway;  ///< None: the destination is on the link (`dev PORT` alone).
  std::string port;
  std::uint16_t weight = 1;  ///< 1 to 256.
  /// IPv6 gateway of an IPv4 route (RFC 8950); `gateway` is then empty. Only the host can use such a gateway, so
  /// packets of the route go to the host.
  std::optional<Ipv6Address> inet6_gateway = std::nullopt;

  auto operator<=>(const NextHopOf&) const = default;
};

/// Distinguishes targets of routes: a non-empty set of next hops, or none.
enum class RouteKind : std::uint8_t { unicast, blackhole, unreachable };
template <class Family>
struct RouteTargetOf {
  using Kind = RouteKind;
  Kind kind = Kind::unicast;
  std::vector<NextHopOf<Family>> next_hops;  ///< For unicast only.

  auto operator<=>(const RouteTargetOf&) const = default;
};

template <class Family>
struct RouteOf {
  typename Family::Prefix prefix;
  std::uint32_t metric = 0;  ///< Routes with the lowest metric are preferred.
  std::uint32_t target = 0;  ///< Index into RouteList::targets.

  /// Returns the key of the route in its list. Of the routes of one prefix, the first in the order of keys is active.
  std::pair<typename Family::Prefix, std::uint32_t> key() const { return {prefix, metric}; }
};

template <class Family>
struct RouteListOf {
  std::vector<RouteTargetOf<Family>> targets;  ///< All different.
  std::vector<RouteOf<Family>> routes;         ///< In file order; (prefix, metric) is unique.
};

using NextHop = NextHopOf<Ipv4>;
using RouteTarget = RouteTargetOf<Ipv4>;
using Route = RouteOf<Ipv4>;
using RouteList = RouteListOf<Ipv4>;

/// Reads a route file of one family, or the output of `ip route`. Each line has one route. `#` begins a comment; empty
/// lines are skipped.
///
///   PREFIX via ADDR dev PORT [metric N]      PREFIX dev PORT [metric N]
///   PREFIX via inet6 ADDR dev PORT [metric N], of an IPv4 route
///   PREFIX [metric N] nexthop via ADDR dev PORT [weight W] nexthop ...
///   blackhole PREFIX [metric N]              unreachable PREFIX [metric N], also as prohibit
///
/// A line that begins with `nexthop` continues the route before it. `default` is the prefix of length 0, and a bare
/// address is a host route. `unicast` may precede the prefix.
///
/// Words of `ip route` that do not affect forwarding are skipped: proto, scope, src, flags such as linkdown, mtu and
/// other metrics of the host. The `dev` of a blackhole or unreachable route is skipped too. Words that would change
/// forwarding are refused: table, tos, encap and the types local, broadcast, multicast, throw.
///
/// `ports` restricts `dev`; empty allows any name. Throws InputError with file, line and column.
template <class Family = Ipv4>
RouteListOf<Family> read_routes(const std::filesystem::path& file, const std::vector<std::string>& ports);
template <class Family = Ipv4>
RouteListOf<Family> parse_routes(std::string_view text, const std::string& name, const std::vector<std::string>& ports);

/// Holds the routes of a command that adds routes, with the line of each. The syntax is that of parse_routes().
template <class Family>
struct RouteEntriesOf {
  RouteListOf<Family> list;
  std::vector<int> lines;
};
template <class Family>
RouteEntriesOf<Family> parse_route_entries(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& ports);

/// Holds a route of a command that removes routes. The syntax is the same, but only the prefix is required.
template <class Family>
struct RouteRemovalOf {
  typename Family::Prefix prefix;
  std::optional<std::uint32_t> metric;          ///< None: any metric.
  std::optional<RouteTargetOf<Family>> target;  ///< None: any target.
  int line = 0;
};
template <class Family>
std::vector<RouteRemovalOf<Family>> parse_route_removals(std::string_view text, const std::string& name,
                                                         const std::vector<std::string>& ports);

/// Returns an error at the first word of a line of a route file or neighbour file.
InputError error_in_line(std::string_view text, const std::string& name, int line, const std::string& message);

/// Holds a neighbour, `ADDR dev PORT lladdr MAC`, in the syntax of `ip neigh` and `ip -s neigh`. States, flags and
/// statistics are skipped, as are lines of the other family and FAILED or INCOMPLETE entries without lladdr.
template <class Family>
struct NeighbourOf {
  typename Family::Address address;
  std::string port;
  MacAddress mac;
};
using Neighbour = NeighbourOf<Ipv4>;
template <class Family = Ipv4>
std::vector<NeighbourOf<Family>> read_neighbours(const std::filesystem::path& file,
                                                 const std::vector<std::string>& ports);
template <class Family = Ipv4>
std::vector<NeighbourOf<Family>> parse_neighbours(std::string_view text, const std::string& name,
                                                  const std::vector<std::string>& ports);

/// Holds a neighbour of a command, with its line. Every line must be an entry of this family. A MAC address is required
/// unless `removed`; without one, `mac` is 0 and matches any.
template <class Family>
struct NeighbourEntryOf {
  NeighbourOf<Family> neighbour;
  int line = 0;
};
template <class Family>
std::vector<NeighbourEntryOf<Family>> parse_neighbour_entries(std::string_view text, const std::string& name,
                                                              const std::vector<std::string>& ports, bool removed);

/// Returns the words after a prefix: `via ADDR dev PORT`, `dev PORT`, `nexthop via ADDR dev PORT weight W nexthop ...`,
/// `blackhole` or `unreachable`.
template <class Family = Ipv4>
std::string to_string(const RouteTargetOf<Family>& target);

/// Write the forms that read_routes() and read_neighbours() read back unchanged.
template <class Family>
void write_routes(std::ostream& out, const RouteListOf<Family>& list);
template <class Family>
void write_neighbours(std::ostream& out, const std::vector<NeighbourOf<Family>>& neighbours);

}  // namespace penumbra::control
