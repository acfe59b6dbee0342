// SPDX-License-Identifier: Apache-2.0
//
// Routes and neighbours as files, in the syntax of iproute2. Compact in memory: a full table is a million routes but
// a few dozen different next-hop sets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penumbra/errors.h"
#include "penumbra/ip.h"

namespace penumbra::control {

/// One way towards a destination.
template <class Family>
struct NextHopOf {
  std::optional<typename Family::Address> gateway;  ///< none: the destination itself is on the link (`dev PORT` alone)
  std::string port;
  std::uint16_t weight = 1;  ///< 1 to 256
  /// Of an IPv4 route by a gateway of the other family (RFC 8950), which leaves `gateway` empty: only the host knows
  /// how to use it, so that its packets are the host's.
  std::optional<Ipv6Address> inet6_gateway = std::nullopt;

  auto operator<=>(const NextHopOf&) const = default;
};

/// Where a route leads: a non-empty set of next hops, or nowhere.
enum class RouteKind : std::uint8_t { unicast, blackhole, unreachable };
template <class Family>
struct RouteTargetOf {
  using Kind = RouteKind;
  Kind kind = Kind::unicast;
  std::vector<NextHopOf<Family>> next_hops;  ///< unicast only

  auto operator<=>(const RouteTargetOf&) const = default;
};

template <class Family>
struct RouteOf {
  typename Family::Prefix prefix;
  std::uint32_t metric = 0;  ///< the lowest wins
  std::uint32_t target = 0;  ///< index into RouteList::targets
};

template <class Family>
struct RouteListOf {
  std::vector<RouteTargetOf<Family>> targets;  ///< all different
  std::vector<RouteOf<Family>> routes;         ///< in file order; (prefix, metric) is unique
};

using NextHop = NextHopOf<Ipv4>;
using RouteTarget = RouteTargetOf<Ipv4>;
using Route = RouteOf<Ipv4>;
using RouteList = RouteListOf<Ipv4>;

/// Reads a route file of one family, or what `ip route` prints: one route a line, `#` begins a comment, empty lines are
/// skipped.
///
///   PREFIX via ADDR dev PORT [metric N]      PREFIX dev PORT [metric N]
///   PREFIX via inet6 ADDR dev PORT [metric N], of an IPv4 route
///   PREFIX [metric N] nexthop via ADDR dev PORT [weight W] nexthop ...
///   blackhole PREFIX [metric N]              unreachable PREFIX [metric N], also as prohibit
///
/// A line that begins with `nexthop` goes on with the route before it. `default` covers everything, a bare address
/// itself; `unicast` may stand in front; words of `ip route` that have no part in forwarding here (proto, scope, src,
/// flags such as linkdown, mtu and other metrics of the host) are taken and skipped; the `dev` of a route that
/// leads nowhere too; words that would change it (table,
/// tos, encap, the types local, broadcast, multicast, throw) are refused. `ports` restricts `dev`; empty allows any
/// name. Throws InputError with file, line and column.
template <class Family = Ipv4>
RouteListOf<Family> read_routes(const std::filesystem::path& file, const std::vector<std::string>& ports);
template <class Family = Ipv4>
RouteListOf<Family> parse_routes(std::string_view text, const std::string& name, const std::vector<std::string>& ports);

/// The routes of a command that adds some, with the line of each: parse_routes() otherwise.
template <class Family>
struct RouteEntriesOf {
  RouteListOf<Family> list;
  std::vector<int> lines;
};
template <class Family>
RouteEntriesOf<Family> parse_route_entries(std::string_view text, const std::string& name,
                                           const std::vector<std::string>& ports);

/// A route as a command names it that removes it: in the same words, of which only the prefix is needed.
template <class Family>
struct RouteRemovalOf {
  typename Family::Prefix prefix;
  std::optional<std::uint32_t> metric;          ///< none: of whatever metric
  std::optional<RouteTargetOf<Family>> target;  ///< none: wherever it leads
  int line = 0;
};
template <class Family>
std::vector<RouteRemovalOf<Family>> parse_route_removals(std::string_view text, const std::string& name,
                                                         const std::vector<std::string>& ports);

/// An error at the first word of a line of a route file, or of a neighbour file.
InputError error_in_line(std::string_view text, const std::string& name, int line, const std::string& message);

/// `ADDR dev PORT lladdr MAC`, what `ip neigh` and `ip -s neigh` print (states, flags and statistics are taken and
/// skipped; FAILED and INCOMPLETE entries without lladdr too, and lines of the other family).
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

/// Neighbours of a command, with the line of each. Every line has to be an entry of this family; a MAC address is
/// needed unless the neighbours are to be removed: 0 stands for any.
template <class Family>
struct NeighbourEntryOf {
  NeighbourOf<Family> neighbour;
  int line = 0;
};
template <class Family>
std::vector<NeighbourEntryOf<Family>> parse_neighbour_entries(std::string_view text, const std::string& name,
                                                              const std::vector<std::string>& ports, bool removed);

/// `via ADDR dev PORT`, `dev PORT`, `nexthop via ADDR dev PORT weight W nexthop ...`, `blackhole`, `unreachable`: as it
/// stands behind a prefix.
template <class Family = Ipv4>
std::string to_string(const RouteTargetOf<Family>& target);

/// Write what read_routes() and read_neighbours() read back as the same.
template <class Family>
void write_routes(std::ostream& out, const RouteListOf<Family>& list);
template <class Family>
void write_neighbours(std::ostream& out, const std::vector<NeighbourOf<Family>>& neighbours);

}  // namespace penumbra::control
