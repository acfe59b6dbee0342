// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

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
  void commit() override;

  /// How many routes and neighbours have found no room in the table. Packets to such a prefix are the host's, if there
  /// is room for that, until there is room for it. Any thread.
  std::size_t refused() const { return refused_count_; }

 private:
  /// A route; with a port, the neighbour of that address there.
  using Subject = std::pair<Ipv4Prefix, std::optional<std::uint16_t>>;

  template <class Change>
  bool try_to(const Subject& subject, const Change& change);
  void try_again();
  void give_to_host(Ipv4Prefix prefix);

  Ipv4Fib& fib_;
  std::map<Subject, std::function<void()>> refused_;  ///< what the table should take
  Subject last_tried_;
  std::atomic<std::size_t> refused_count_{0};
};

}  // namespace penumbra::ipv4
