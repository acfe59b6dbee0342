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
struct NextHop {
  std::optional<Ipv4Address> gateway;  ///< none: the destination itself is on the link (`dev PORT` alone)
  std::string port;
  std::uint16_t weight = 1;  ///< 1 to 256

  auto operator<=>(const NextHop&) const = default;
};

/// Where a route leads: a non-empty set of next hops, or nowhere.
struct RouteTarget {
  enum class Kind : std::uint8_t { unicast, blackhole, unreachable };
  Kind kind = Kind::unicast;
  std::vector<NextHop> next_hops;  ///< unicast only

  auto operator<=>(const RouteTarget&) const = default;
};

struct Route {
  Ipv4Prefix prefix;
  std::uint32_t metric = 0;  ///< the lowest wins
  std::uint32_t target = 0;  ///< index into RouteList::targets
};

struct RouteList {
  std::vector<RouteTarget> targets;  ///< all different
  std::vector<Route> routes;         ///< in file order; (prefix, metric) is unique
};

/// Reads a route file, or what `ip route` prints: one route a line, `#` begins a comment, empty lines are skipped.
///
///   PREFIX via ADDR dev PORT [metric N]      PREFIX dev PORT [metric N]
///   PREFIX [metric N] nexthop via ADDR dev PORT [weight W] nexthop ...
///   blackhole PREFIX [metric N]              unreachable PREFIX [metric N], also as prohibit
///
/// A line that begins with `nexthop` goes on with the route before it. `default` is 0.0.0.0/0, a bare address a /32;
/// `unicast` may stand in front; words of `ip route` that have no part in forwarding here (proto, scope, src, flags
/// such as linkdown, mtu and other metrics of the host) are taken and skipped; words that would change it (table, tos,
/// encap, the types local, broadcast, multicast, throw) are refused. `ports` restricts `dev`; empty allows any name.
/// Throws InputError with file, line and column.
RouteList read_routes(const std::filesystem::path& file, const std::vector<std::string>& ports);
RouteList parse_routes(std::string_view text, const std::string& name, const std::vector<std::string>& ports);

/// `ADDR dev PORT lladdr MAC`, what `ip neigh` and `ip -s neigh` print (states, flags and statistics are taken and
/// skipped; FAILED and INCOMPLETE entries without lladdr too, and IPv6 addresses' lines).
struct Neighbour {
  Ipv4Address address;
  std::string port;
  MacAddress mac;
};
std::vector<Neighbour> read_neighbours(const std::filesystem::path& file, const std::vector<std::string>& ports);
std::vector<Neighbour> parse_neighbours(std::string_view text, const std::string& name,
                                        const std::vector<std::string>& ports);

/// `via ADDR dev PORT`, `dev PORT`, `nexthop via ADDR dev PORT weight W nexthop ...`, `blackhole`, `unreachable`: as it
/// stands behind a prefix.
std::string to_string(const RouteTarget& target);

/// Write what read_routes() and read_neighbours() read back as the same.
void write_routes(std::ostream& out, const RouteList& list);
void write_neighbours(std::ostream& out, const std::vector<Neighbour>& neighbours);

}  // namespace penumbra::control
