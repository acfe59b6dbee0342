// SPDX-License-Identifier: Apache-2.0
//
// The seam between a function that forwards and those who know the routes: the host's kernel, routing daemons, the
// configuration. A feed merges what they tell and reports, for each prefix, the route that counts and its changes.
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

/// One way towards a destination.
struct FeedHop {
  static constexpr std::uint16_t kHost = 0xFFFF;
  using Gateway = std::variant<std::monostate, Ipv4Address, Ipv6Address>;

  std::uint16_t port = kHost;  ///< index of the port, or kHost: only the host knows how, the packet is its
  std::string interface;       ///< kHost's: the host's interface, for `show`
  Gateway gateway;             ///< none: whoever has the destination address on the link
  std::uint16_t weight = 1;    ///< at least 1

  auto operator<=>(const FeedHop&) const = default;
};

/// Where a prefix leads.
struct FeedTarget {
  /// unreachable_by_host: the host has this very route, and tells the sender why the packet goes nowhere.
  enum class Kind : std::uint8_t { unicast, local, broadcast, blackhole, unreachable, unreachable_by_host };
  static constexpr std::array<std::string_view, 6> kKindNames{"unicast",   "local",       "broadcast",
                                                              "blackhole", "unreachable", "unreachable"};
  Kind kind = Kind::unicast;
  std::vector<FeedHop> hops;  ///< unicast: at least one; local and broadcast: who has the address; else none

  auto operator<=>(const FeedTarget&) const = default;
  static constexpr std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }
};

/// Is told what counts. Calls come from one thread at a time: subscribe()'s caller at first, then the feed's own.
class RouteListener {
 public:
  RouteListener() = default;
  RouteListener(const RouteListener&) = delete;
  RouteListener& operator=(const RouteListener&) = delete;
  virtual ~RouteListener() = default;

  /// Packets to the prefix, and to no longer one, go there from now on.
  virtual void set_route(Ipv4Prefix prefix, const FeedTarget& target) = 0;
  virtual void set_route(Ipv6Prefix prefix, const FeedTarget& target) = 0;
  virtual void remove_route(Ipv4Prefix prefix) = 0;
  virtual void remove_route(Ipv6Prefix prefix) = 0;
  virtual void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) = 0;
  virtual void set_neighbour(std::uint16_t port, Ipv6Address address, MacAddress mac) = 0;
  virtual void remove_neighbour(std::uint16_t port, Ipv4Address address) = 0;
  virtual void remove_neighbour(std::uint16_t port, Ipv6Address address) = 0;
  /// The changes since the last call belong together.
  virtual void commit() = 0;
};

/// A route that somebody told of, for `show`.
struct FeedRow {
  const FeedTarget* target = nullptr;  ///< valid until the visit returns
  std::string_view source;             ///< local, broadcast, connected, static, or one of FeedRequest::follow
  std::uint32_t metric = 0;
  std::optional<std::uint32_t> nexthop_id;  ///< of the next-hop object that it goes by
  bool active = false;                      ///< it is what counts for its prefix
};

struct FeedNeighbour {
  std::uint16_t port = 0;
  std::variant<Ipv4Address, Ipv6Address> address;
  std::optional<MacAddress> mac;
  std::string_view state;  ///< the kernel's name for it: REACHABLE, STALE, ...
};

/// Who is followed, for `show`.
struct FeedSource {
  std::string name;             ///< kernel, fpm
  std::string problem;          ///< why it tells nothing at the moment, a sentence; empty: it does
  std::string peer;             ///< fpm: the client's address, if one is there
  std::uint64_t overflows = 0;  ///< kernel: how often it told more than there was room for; all is asked for again
  std::uint64_t frames = 0, connections = 0, refused = 0, malformed = 0;  ///< fpm: what came of clients
};

/// What a function wants to be told of.
struct FeedRequest {
  static constexpr std::uint32_t kNoTarget = ~std::uint32_t{0};
  template <class Prefix>
  struct Route {
    Prefix prefix;
    std::uint32_t metric = 0;
    std::uint32_t target = 0;  ///< index into targets; for change_own() kNoTarget removes the route
  };
  std::vector<FeedTarget> targets;
  std::vector<Route<Ipv4Prefix>> routes;  ///< the configuration's own; they come before what is followed
  std::vector<std::string> follow;        ///< sources by name, the preferred first
  std::string table;                      ///< main, a number, a name of iproute2's rt_tables, `vrf NAME`
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<Route<Ipv6Prefix>> ipv6_routes = {};  ///< of the other family, likewise
  bool wants_ipv4 = true, wants_ipv6 = true;        ///< of which family is followed what others tell

  template <class Family>
  std::vector<Route<typename Family::Prefix>>& routes_of() {
    if constexpr (std::is_same_v<Family, Ipv4>) {
      return routes;
    } else {
      return ipv6_routes;
    }
  }
};

/// A request that stands for as long as this lives. Any thread may ask.
class RouteSubscription {
 public:
  RouteSubscription() = default;
  RouteSubscription(const RouteSubscription&) = delete;
  RouteSubscription& operator=(const RouteSubscription&) = delete;
  virtual ~RouteSubscription() = default;

  /// From now on these are the configuration's own routes: FeedRequest's `targets` and `routes`.
  virtual void replace_own(const FeedRequest& request) = 0;
  /// Adds the request's routes to the configuration's own, in place of those of the same prefix and metric, and removes
  /// those without a target. The cost depends on the changes, not on how many routes there are.
  virtual void change_own(const FeedRequest& request) = 0;
  /// Visits the routes of exactly this prefix, the best first.
  virtual void visit(Ipv4Prefix prefix, const std::function<void(const FeedRow&)>& visit) const = 0;
  virtual void visit(Ipv6Prefix prefix, const std::function<void(const FeedRow&)>& visit) const = 0;
  /// All IPv6 prefixes that have routes, sorted.
  virtual std::vector<Ipv6Prefix> ipv6_prefixes() const = 0;
  /// The neighbours on ports, by port and address.
  virtual std::vector<FeedNeighbour> neighbours() const = 0;
  /// Those that are followed; none before the feed starts. The host's kernel is always among them.
  virtual std::vector<FeedSource> sources() const = 0;
};

class RouteFeed {
 public:
  RouteFeed() = default;
  RouteFeed(const RouteFeed&) = delete;
  RouteFeed& operator=(const RouteFeed&) = delete;
  virtual ~RouteFeed() = default;

  /// Throw std::invalid_argument for what cannot be followed: FeedRequest::follow's elements, FeedRequest::table.
  virtual void check_source(const std::string& name) const = 0;
  virtual void check_table(const std::string& text) const = 0;
  /// Tells `listener` of the request's own routes at once, and of what is followed when the feed starts. The listener
  /// outlives the subscription, the feed too. Throws like the checks. Opens nothing.
  virtual std::unique_ptr<RouteSubscription> subscribe(const FeedRequest& request, RouteListener& listener) = 0;
};

}  // namespace penumbra
