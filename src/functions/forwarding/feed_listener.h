// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "functions/forwarding/fib.h"
#include "penumbra/route_feed.h"

namespace penumbra::forwarding {

/// Puts what a feed tells into the forwarding table, where each prefix then has one route, of metric 0.
/// What is told of the other family, and of prefixes that no look-up is made for (Family::is_looked_up), is left out.
template <class Family>
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

  /// How many routes and neighbours have found no room in the table. Packets to such a prefix are the host's, if there
  /// is room for that, until there is room for it. Any thread.
  std::size_t refused() const { return refused_count_; }

 private:
  /// A route; with a port, the neighbour of that address there.
  using Subject = std::pair<Prefix, std::optional<std::uint16_t>>;

  void put(Prefix prefix, const FeedTarget& target);
  void remove(Prefix prefix);
  void put(std::uint16_t port, Address address, MacAddress mac);
  void remove(std::uint16_t port, Address address);
  // Of the other family.
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
  std::map<Subject, std::function<void()>> refused_;  ///< what the table should take
  Subject last_tried_;
  std::atomic<std::size_t> refused_count_{0};
};

}  // namespace penumbra::forwarding
