// SPDX-License-Identifier: Apache-2.0
//
// Defines the interface between a forwarding function and route sources: the host's kernel, routing daemons, the
// configuration. A feed merges the routes of all sources and reports the best route of each prefix and its changes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra {

/// One next hop of a destination.
struct FeedHop {
  static constexpr std::uint16_t kHost = 0xFFFF;
  using Gateway = std::variant<std::monostate, Ipv4Address, Ipv6Address>;

  std::uint16_t port = kHost;  ///< Index of the port. kHost: only the host can reach the hop, so the packet is punted.
  std::string interface;       ///< The host's interface if `port` is kHost, for `show`.
  Gateway gateway;             ///< Monostate if the destination is on the link.
  std::uint16_t weight = 1;    ///< At least 1.

  auto operator<=>(const FeedHop&) const = default;
};

/// The destination of a prefix.
struct FeedTarget {
  /// unreachable_by_host: the host has the same route and sends the ICMP error.
  enum class Kind : std::uint8_t { unicast, local, broadcast, blackhole, unreachable, unreachable_by_host };
  static constexpr std::array<std::string_view, 6> kKindNames{"unicast",   "local",       "broadcast",
                                                              "blackhole", "unreachable", "unreachable"};
  Kind kind = Kind::unicast;
  std::vector<FeedHop> hops;  ///< Unicast: at least one. Local and broadcast: the owners of the address. Else empty.

  auto operator<=>(const FeedTarget&) const = default;
  static constexpr std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
};

/// Receives the best routes and their changes. Calls come from one thread at a time: first from the caller of
/// subscribe(), then from the feed's own thread.
class RouteListener {
 public:
  RouteListener() = default;
  RouteListener(const RouteListener&) = delete;
  RouteListener& operator=(const RouteListener&) = delete;
  virtual ~RouteListener() = default;

  /// Sets the route of packets whose longest matching prefix is `prefix`.
  virtual void set_route(Ipv4Prefix prefix, const FeedTarget& target) = 0;
  virtual void set_route(Ipv6Prefix prefix, const FeedTarget& target) = 0;
  virtual void remove_route(Ipv4Prefix prefix) = 0;
  virtual void remove_route(Ipv6Prefix prefix) = 0;
  virtual void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) = 0;
  virtual void set_neighbour(std::uint16_t port, Ipv6Address address, MacAddress mac) = 0;
  virtual void remove_neighbour(std::uint16_t port, Ipv4Address address) = 0;
  virtual void remove_neighbour(std::uint16_t port, Ipv6Address address) = 0;
  /// Ends a group of changes: the changes since the last call belong together.
  virtual void commit() = 0;
};

/// A route of any source, for `show`.
struct FeedRow {
  const FeedTarget* target = nullptr;  ///< Valid until the visit returns.
  std::string_view source;  ///< One of: local, broadcast, connected, static, or a source in FeedRequest::follow.
  std::uint32_t metric = 0;
  std::optional<std::uint32_t> nexthop_id;  ///< The route's next-hop object.
  bool active = false;                      ///< True if the route is the best of its prefix.
};

struct FeedNeighbour {
  std::uint16_t port = 0;
  std::variant<Ipv4Address, Ipv6Address> address;
  std::optional<MacAddress> mac;
  std::string_view state;  ///< The kernel's name of the state: REACHABLE, STALE, ...
};

/// A followed route source, for `show`.
struct FeedSource {
  std::string name;     ///< The source's name: kernel or fpm.
  std::string problem;  ///< A sentence that says why the source reports nothing at present. Empty if the source works.
  std::string peer;     ///< fpm: address of the connected client, if any.
  /// kernel: number of receive overflows. After each overflow the feed requests all routes again.
  std::uint64_t overflows = 0;
  std::uint64_t frames = 0, connections = 0, refused = 0, malformed = 0;  ///< fpm: counts of client events.
};

/// The routes that a function subscribes to.
struct FeedRequest {
  static constexpr std::uint32_t kNoTarget = ~std::uint32_t{0};
  template <class Prefix>
  struct Route {
    Prefix prefix;
    std::uint32_t metric = 0;
    std::uint32_t target = 0;  ///< Index into `targets`; for change_own(), kNoTarget removes the route.
  };
  std::vector<FeedTarget> targets;
  std::vector<Route<Ipv4Prefix>> routes;  ///< The configuration's own IPv4 routes, which are preferred to all sources.
  std::vector<std::string> follow;        ///< Route sources by name, the preferred source first.
  std::string table;  ///< Routing table: `main`, a number, a name of iproute2's rt_tables, or `vrf NAME`.
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<Route<Ipv6Prefix>> ipv6_routes = {};  ///< The configuration's own IPv6 routes.
  bool wants_ipv4 = true, wants_ipv6 = true;        ///< Families of the sources' routes that the function follows.

  template <class Family>
  std::vector<Route<typename Family::Prefix>>& routes_of() {
    if constexpr (std::is_same_v<Family, Ipv4>) {
      return routes;
    } else {
      return ipv6_routes;
    }
  }
};

/// An active subscription, which the destructor ends. Any thread may call the functions.
class RouteSubscription {
 public:
  RouteSubscription() = default;
  RouteSubscription(const RouteSubscription&) = delete;
  RouteSubscription& operator=(const RouteSubscription&) = delete;
  virtual ~RouteSubscription() = default;

  /// Replaces the configuration's own routes by those in `request`: `targets`, `routes` and `ipv6_routes`.
  virtual void replace_own(const FeedRequest& request) = 0;
  /// Adds the request's routes to the configuration's own, and removes routes without a target. An added route replaces
  /// the route of the same prefix and metric. The cost depends on the number of changes, not on the number of routes.
  virtual void change_own(const FeedRequest& request) = 0;
  /// Visits the routes of exactly this prefix, best first.
  virtual void visit(Ipv4Prefix prefix, const std::function<void(const FeedRow&)>& visit) const = 0;
  virtual void visit(Ipv6Prefix prefix, const std::function<void(const FeedRow&)>& visit) const = 0;
  /// Returns all IPv6 prefixes that have routes, sorted.
  virtual std::vector<Ipv6Prefix> ipv6_prefixes() const = 0;
  /// Returns the neighbours on ports, sorted by port and address.
  virtual std::vector<FeedNeighbour> neighbours() const = 0;
  /// Returns the followed sources, or nothing before the feed starts. The host's kernel is always a followed source.
  virtual std::vector<FeedSource> sources() const = 0;
};

class RouteFeed {
 public:
  RouteFeed() = default;
  RouteFeed(const RouteFeed&) = delete;
  RouteFeed& operator=(const RouteFeed&) = delete;
  virtual ~RouteFeed() = default;

  /// Throw std::invalid_argument if a source (FeedRequest::follow) or a table (FeedRequest::table) cannot be followed.
  virtual void check_source(const std::string& name) const = 0;
  virtual void check_table(const std::string& text) const = 0;
  /// Reports the request's own routes to `listener` immediately, and the followed routes when the feed starts. The
  /// listener and the feed must outlive the subscription. Throws like the checks. Opens no sockets or files.
  virtual std::unique_ptr<RouteSubscription> subscribe(const FeedRequest& request, RouteListener& listener) = 0;
};

}  // namespace penumbra
