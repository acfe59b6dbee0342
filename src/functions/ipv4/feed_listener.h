// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <set>

#include "functions/ipv4/fib.h"
#include "penumbra/route_feed.h"

namespace penumbra::ipv4 {

/// Puts what a feed tells into the forwarding table, where each prefix then has one route, of metric 0.
class FeedListener final : public RouteListener {
 public:
  explicit FeedListener(Ipv4Fib& fib) : fib_(fib) {}

  void set_route(Ipv4Prefix prefix, const FeedTarget& target) override;
  void set_route(Ipv6Prefix prefix, const FeedTarget& target) override;
  void remove_route(Ipv4Prefix prefix) override;
  void remove_route(Ipv6Prefix prefix) override;
  void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) override;
  void remove_neighbour(std::uint16_t port, Ipv4Address address) override;
  void commit() override { fib_.commit(); }

  /// How many routes and neighbours have found no room in the table. Packets to such a prefix are the host's, if there
  /// is room for that. Any thread.
  std::size_t refused() const { return refused_count_; }

 private:
  template <class Change>
  bool try_to(Ipv4Prefix prefix, const Change& change);
  void give_to_host(Ipv4Prefix prefix);

  Ipv4Fib& fib_;
  std::set<Ipv4Prefix> refused_;  ///< a neighbour as its /32
  std::atomic<std::size_t> refused_count_{0};
};

}  // namespace penumbra::ipv4
