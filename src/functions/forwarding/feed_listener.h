// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "functions/forwarding/family.h"
#include "functions/forwarding/fib.h"
#include "penumbra/route_feed.h"

namespace penumbra::forwarding {

/// Writes the routes and neighbours of a feed into the forwarding table. Each prefix then has one route, of metric 0.
///
/// Updates of the other address family are ignored. So are updates of prefixes that are never looked up
/// (Family::is_looked_up).
template <ForwardingFamily Family>
class FeedListener final : public RouteListener {
 public:
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;

  explicit FeedListener(Fib<Family>& fib) : fib_(fib) {}

  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override { put(prefix, target); }
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override { put(prefix, target); }
  void remove_route(Ipv4Prefix prefix) override { remove(prefix); }
  void remove_route(Ipv6Prefix prefix) override { remove(prefix); }
  void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) override { put(port, address, mac); }
  void set_neighbour(std::uint16_t port, Ipv6Address address, MacAddress mac) override { put(port, address, mac); }
  void remove_neighbour(std::uint16_t port, Ipv4Address address) override { remove(port, address); }
  void remove_neighbour(std::uint16_t port, Ipv6Address address) override { remove(port, address); }
  void commit() override;

  /// Returns the number of routes and neighbours that the table had no room for. Until there is room, packets to such a
  /// prefix are punted to the host, if the table has room for that entry. Any thread may call this function.
  std::size_t refused() const { return refused_count_; }

 private:
  /// Identifies a route, or with a port the neighbour at this address on the port.
  using Subject = std::pair<Prefix, std::optional<std::uint16_t>>;

  void put(Prefix prefix, const FeedTarget& target);
  void remove(Prefix prefix);
  void put(std::uint16_t port, Address address, MacAddress mac);
  void remove(std::uint16_t port, Address address);
  // These overloads ignore updates of the other family.
  template <class Other>
  void put(Other /*prefix*/, const FeedTarget& /*target*/) {}
  template <class Other>
  void remove(Other /*prefix*/) {}
  template <class Other>
  void put(std::uint16_t /*port*/, Other /*address*/, MacAddress /*mac*/) {}
  template <class Other>
  void remove(std::uint16_t /*port*/, Other /*address*/) {}

  template <class Change>
  bool try_to(const Subject& subject, const Change& change);
  void try_again();
  void give_to_host(Prefix prefix);

  Fib<Family>& fib_;
  std::map<Subject, std::function<void()>> refused_;  ///< changes to try again, by route or neighbour
  Subject last_tried_;
  std::atomic<std::size_t> refused_count_{0};
};

}  // namespace penumbra::forwarding
