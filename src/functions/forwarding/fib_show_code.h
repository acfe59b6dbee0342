// SPDX-License-Identifier: Apache-2.0
//
// Describes the table for users.
#pragma once

#include <algorithm>

#include "functions/forwarding/fib.h"

namespace penumbra::forwarding {

template <class Family>
std::string Fib<Family>::port_name(std::uint16_t port) const {
  return port == Hop::kHost ? "host" : ports_[port].name;
}

template <class Family>
std::vector<control::NextHopOf<typename Family::AddressFamily>> Fib<Family>::next_hops(const Target& target) const {
  std::vector<NextHop> hops;
  hops.reserve(target.hops.size());
  for (const Hop& hop : target.hops) {
    const bool gateway = target.kind == Target::Kind::unicast && !hop.on_link;
    hops.push_back({.gateway = gateway ? std::optional(hop.gateway) : std::nullopt,
                    .port = port_name(hop.port),
                    .weight = hop.weight});
  }
  return hops;
}

template <class Family>
std::string Fib<Family>::text(const Target& target) const {
  if (target.kind == Target::Kind::unicast) return control::to_string(RouteTarget{.next_hops = next_hops(target)});
  const std::string type(FeedTarget::name_of(target.kind));
  return target.hops.empty() ? type : type + " dev " + port_name(target.hops.front().port);
}

template <class Family>
std::optional<typename Fib<Family>::Answer> Fib<Family>::lookup(Address address) const {
  const std::lock_guard lock(mutex_);
  const auto found = table_.match(address);
  if (!found) return std::nullopt;
  return Answer{found->prefix, text(next_hops_.target(found->next_hop))};
}

template <class Family>
std::string Fib<Family>::describe(std::uint16_t next_hop) const {
  if (next_hop == LookupTable::kNoRoute) return "unreachable";
  const std::lock_guard lock(mutex_);
  return text(next_hops_.target(next_hop));
}

template <class Family>
void Fib<Family>::append_rows(Prefix prefix, std::optional<SetId> active, std::vector<Row>& rows) const {
  bool taken = false;  // true if an earlier row is active
  const auto add = [&](SetId set, std::string_view source, std::optional<std::uint32_t> metric) {
    const Target target = next_hops_.target(set);
    rows.push_back({prefix, FeedTarget::name_of(target.kind), next_hops(target), metric, source, set,
                    !std::exchange(taken, true)});
  };
  const auto interface = interfaces_.find(prefix);
  if (interface != interfaces_.end()) add(interface->second.set, interface->second.source, std::nullopt);
  const auto adjacency = prefix.length == kHost ? adjacencies_.find(prefix.address) : adjacencies_.end();
  if (const auto routes = routes_.find(prefix); routes != routes_.end()) {
    for (const Route& route : routes->second) add(route.set, "route", route.metric);
  } else if (active && interface == interfaces_.end() && adjacency == adjacencies_.end()) {
    add(*active, "route", usual_metric_);
  }
  if (adjacency == adjacencies_.end()) return;
  if (const auto set = adjacency->second.set) add(*set, "neighbour", std::nullopt);
}

template <class Family>
std::vector<typename Fib<Family>::Row> Fib<Family>::rows(Prefix prefix) const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> rows;
  append_rows(prefix, table_.find(prefix), rows);
  return rows;
}

template <class Family>
std::vector<typename Fib<Family>::Row> Fib<Family>::rows(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> rows;
  table_.for_each([&](const typename LookupTable::Entry& entry) {
    if (rows.size() < most) append_rows(entry.prefix, entry.next_hop, rows);
  });
  return rows;
}

template <class Family>
std::vector<control::NeighbourOf<typename Family::AddressFamily>> Fib<Family>::neighbours() const {
  const std::lock_guard lock(mutex_);
  std::vector<Neighbour> list;
  for (const auto& [address, adjacency] : adjacencies_) {
    for (const std::uint16_t port : adjacency.ports) {
      const auto mac = next_hops_.neighbour(port, address);
      if (mac) list.push_back({.address = address, .port = ports_[port].name, .mac = *mac});
    }
  }
  return list;
}

template <class Family>
std::size_t Fib<Family>::prefixes() const {
  const std::lock_guard lock(mutex_);
  return table_.size();
}

template <class Family>
std::vector<StructureMemory> Fib<Family>::memory() const {
  const std::lock_guard lock(mutex_);
  return table_.memory();
}

template <class Family>
std::size_t Fib<Family>::next_hop_sets() const {
  const std::lock_guard lock(mutex_);
  return next_hops_.sets();
}

}  // namespace penumbra::forwarding
