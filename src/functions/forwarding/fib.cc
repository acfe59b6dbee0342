// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/fib.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "functions/forwarding/families.h"

namespace penumbra::forwarding {

template <ForwardingFamily Family>
Fib<Family>::Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods, std::size_t lookup)
    : names_(ports), state_(ports, grace_periods, lookup) {
  for (const auto& [prefix, direct] : direct_prefixes(ports)) set_interface(prefix, direct);
  state_.table.commit();
}

/// Returns the addresses and networks of all ports.
template <ForwardingFamily Family>
std::map<typename Fib<Family>::Prefix, typename Fib<Family>::Direct> Fib<Family>::direct_prefixes(
    std::span<const PortInfo> ports) {
  std::map<Prefix, Direct> all;
  const auto add = [&](Prefix prefix, const Direct& direct) {
    const auto [at, added] = all.try_emplace(prefix, direct);
    if (added || at->second.port == direct.port) return;
    throw std::invalid_argument(
        "ports '" + ports[at->second.port].name + "' and '" + ports[direct.port].name + "' both have " +
        (direct.kind == Target::Kind::local ? "address " + to_string(prefix.address) : "network " + to_string(prefix)));
  };
  for (const PortInfo& port : ports) {
    for (const auto& [address, network] : port.template addresses_of<typename Family::AddressFamily>()) {
      add({address, kHost}, {Target::Kind::local, port.index, "local"});
      if (network.length < kHost) add(network, {Target::Kind::unicast, port.index, "connected"});
    }
  }
  for (const PortInfo& port : ports) {
    for (const auto& own : port.template addresses_of<typename Family::AddressFamily>()) {
      for (const Address edge : Family::edges(own.network)) {
        all.try_emplace({edge, kHost}, Direct{Family::kEdgeKind, port.index, Family::kEdgeSource});
      }
    }
  }
  return all;
}

/// Assigns a prefix to a port, or removes the assignment. Without an assignment, routes and neighbours decide for the
/// prefix again.
template <ForwardingFamily Family>
void Fib<Family>::set_interface(Prefix prefix, const std::optional<Direct>& direct) {
  Routes routes = state_.routes_of(prefix);
  const auto found = state_.interfaces.find(prefix);
  std::optional<SetId> before;
  if (found != state_.interfaces.end()) before = found->second.set;
  if (direct) {
    const SetId set = state_.acquire({direct->kind, {{.port = direct->port, .gateway = std::nullopt}}});
    state_.interfaces[prefix] = {set, direct->source};
  } else {
    state_.interfaces.erase(prefix);
  }
  state_.change_routes(prefix, std::move(routes));
  if (before) state_.next_hops.release(*before);
}

template <ForwardingFamily Family>
void Fib<Family>::set_ports(std::span<const PortInfo> ports) {
  const std::lock_guard lock(mutex_);
  const auto before = direct_prefixes(names_.ports()), after = direct_prefixes(ports);
  names_.set_ports(ports);
  state_.next_hops.set_ports(ports);
  // New prefixes are added before the prefixes that covered them are removed.
  for (const auto& [prefix, direct] : after) {
    const auto known = before.find(prefix);
    if (known == before.end() || known->second != direct) set_interface(prefix, direct);
  }
  for (const auto& [prefix, direct] : before) {
    if (!after.contains(prefix)) set_interface(prefix, std::nullopt);
  }
  state_.commit();
}

template <ForwardingFamily Family>
void Fib<Family>::commit() {
  const std::lock_guard lock(mutex_);
  state_.commit();
}

template <ForwardingFamily Family>
void Fib<Family>::add_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, names_.to_target(target), false);
}

template <ForwardingFamily Family>
void Fib<Family>::replace_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, names_.to_target(target), true);
}

template <ForwardingFamily Family>
void Fib<Family>::replace_route(Prefix prefix, std::uint32_t metric, const Target& target) {
  const std::lock_guard lock(mutex_);
  names_.check(target);
  set_route(prefix, metric, target, true);
}

template <ForwardingFamily Family>
void Fib<Family>::set_route(Prefix prefix, std::uint32_t metric, Target target, bool may_exist) {
  Routes routes = state_.routes_of(prefix);
  auto at = std::find_if(routes.begin(), routes.end(), [metric](const Route& route) { return route.metric >= metric; });
  const bool exists = at != routes.end() && at->metric == metric;
  if (exists && !may_exist) {
    throw std::invalid_argument("there is a route to " + to_string(prefix) + " with metric " + std::to_string(metric));
  }
  if (prefix.length == kHost && needs_address<Family>(target))
    target = for_address<Family>(std::move(target), prefix.address);
  const SetId fresh = state_.acquire(target);
  std::optional<SetId> old;
  if (exists) {
    old = std::exchange(at->set, fresh);
  } else {
    routes.insert(at, {.metric = metric, .set = fresh});
  }
  try {
    state_.change_routes(prefix, std::move(routes));
  } catch (...) {
    state_.next_hops.release(fresh);
    throw;
  }
  if (old) state_.next_hops.release(*old);
}

template <ForwardingFamily Family>
bool Fib<Family>::remove_route(Prefix prefix, std::uint32_t metric) {
  const std::lock_guard lock(mutex_);
  Routes routes = state_.routes_of(prefix);
  const auto at =
      std::find_if(routes.begin(), routes.end(), [metric](const Route& route) { return route.metric == metric; });
  if (at == routes.end()) return false;
  const SetId old = at->set;
  routes.erase(at);
  state_.change_routes(prefix, std::move(routes));
  state_.next_hops.release(old);
  return true;
}

template <ForwardingFamily Family>
void Fib<Family>::load(const RouteList& list) {
  const std::lock_guard lock(mutex_);
  load_routes(state_, names_, list);
}

template <ForwardingFamily Family>
void Fib<Family>::set_neighbour(const Neighbour& neighbour) {
  set_neighbour(names_.index_of(neighbour.port), neighbour.address, neighbour.mac);
}

template <ForwardingFamily Family>
void Fib<Family>::set_neighbour(std::uint16_t port, Address address, MacAddress mac) {
  const std::lock_guard lock(mutex_);
  state_.make_room();
  const auto old = state_.next_hops.neighbour(port, address);
  if (!state_.next_hops.set_neighbour(port, address, mac) || old) return;

  const Prefix host{address, kHost};
  const Routes routes = state_.routes_of(host);
  const auto at = state_.adjacencies.try_emplace(address).first;
  at->second.ports.insert(port);
  state_.remember(host, routes);  // the table alone can no longer distinguish a route from an adjacency
  try {
    const auto [length, cover] = state_.cover_of(address, kHost - 1);
    const AdjacencyChange change{at, length, state_.acquire_adjacency(at->first, at->second, cover)};
    state_.apply_adjacency(change);
    state_.settle(change);
  } catch (...) {
    forget_port(at, port);
    state_.next_hops.remove_neighbour(port, address);
    throw;
  }
}

template <ForwardingFamily Family>
bool Fib<Family>::remove_neighbour(Address address, const std::string& port) {
  return remove_neighbour(names_.index_of(port), address);
}

template <ForwardingFamily Family>
bool Fib<Family>::remove_neighbour(std::uint16_t port, Address address) {
  const std::lock_guard lock(mutex_);
  if (!state_.next_hops.neighbour(port, address)) return false;
  state_.make_room();
  const auto at = state_.adjacencies.find(address);
  Adjacency rest = at->second;
  rest.ports.erase(port);
  const auto [length, cover] = state_.cover_of(address, kHost - 1);
  const AdjacencyChange change{at, length, state_.acquire_adjacency(address, rest, cover)};
  state_.apply_adjacency(change);
  state_.next_hops.remove_neighbour(port, address);  // cannot fail after make_room()
  state_.settle(change);
  forget_port(at, port);
  return true;
}

template <ForwardingFamily Family>
void Fib<Family>::forget_port(typename Adjacencies::iterator at, std::uint16_t port) {
  at->second.ports.erase(port);
  if (!at->second.ports.empty()) return;
  const Prefix host{at->first, kHost};
  const Routes routes = state_.routes_of(host);
  state_.adjacencies.erase(at);
  state_.remember(host, routes);
}

template <ForwardingFamily Family>
std::optional<typename Fib<Family>::Answer> Fib<Family>::lookup(Address address) const {
  const std::lock_guard lock(mutex_);
  const auto found = state_.table.match(address);
  if (!found) return std::nullopt;
  return Answer{found->prefix, names_.text(state_.next_hops.target(found->next_hop))};
}

template <ForwardingFamily Family>
std::string Fib<Family>::describe(std::uint16_t next_hop) const {
  if (next_hop == LookupTable::kNoRoute) return "unreachable";
  const std::lock_guard lock(mutex_);
  return names_.text(state_.next_hops.target(next_hop));
}

template <ForwardingFamily Family>
void Fib<Family>::append_rows(Prefix prefix, std::optional<SetId> active, std::vector<Row>& rows) const {
  bool taken = false;  // true if an earlier row is active
  const auto add = [&](SetId set, std::string_view source, std::optional<std::uint32_t> metric) {
    const Target target = state_.next_hops.target(set);
    rows.push_back({prefix, FeedTarget::name_of(target.kind), names_.next_hops(target), metric, source, set,
                    !std::exchange(taken, true)});
  };
  const auto interface = state_.interfaces.find(prefix);
  if (interface != state_.interfaces.end()) add(interface->second.set, interface->second.source, std::nullopt);
  const auto adjacency = prefix.length == kHost ? state_.adjacencies.find(prefix.address) : state_.adjacencies.end();
  if (const auto routes = state_.routes.find(prefix); routes != state_.routes.end()) {
    for (const Route& route : routes->second) add(route.set, "route", route.metric);
  } else if (active && interface == state_.interfaces.end() && adjacency == state_.adjacencies.end()) {
    add(*active, "route", state_.usual_metric);
  }
  if (adjacency == state_.adjacencies.end()) return;
  if (const auto set = adjacency->second.set) add(*set, "neighbour", std::nullopt);
}

template <ForwardingFamily Family>
std::vector<typename Fib<Family>::Row> Fib<Family>::rows(Prefix prefix) const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> rows;
  append_rows(prefix, state_.table.find(prefix), rows);
  return rows;
}

template <ForwardingFamily Family>
std::vector<typename Fib<Family>::Row> Fib<Family>::rows(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<Row> rows;
  state_.table.for_each([&](const typename LookupTable::Entry& entry) {
    if (rows.size() < most) append_rows(entry.prefix, entry.next_hop, rows);
  });
  return rows;
}

template <ForwardingFamily Family>
std::vector<control::NeighbourOf<typename Family::AddressFamily>> Fib<Family>::neighbours() const {
  const std::lock_guard lock(mutex_);
  std::vector<Neighbour> list;
  for (const auto& [address, adjacency] : state_.adjacencies) {
    for (const std::uint16_t port : adjacency.ports) {
      const auto mac = state_.next_hops.neighbour(port, address);
      if (mac) list.push_back({.address = address, .port = names_.name_of(port), .mac = *mac});
    }
  }
  return list;
}

template <ForwardingFamily Family>
std::size_t Fib<Family>::prefixes() const {
  const std::lock_guard lock(mutex_);
  return state_.table.size();
}

template <ForwardingFamily Family>
std::vector<StructureMemory> Fib<Family>::memory() const {
  const std::lock_guard lock(mutex_);
  return state_.table.memory();
}

template <ForwardingFamily Family>
std::size_t Fib<Family>::next_hop_sets() const {
  const std::lock_guard lock(mutex_);
  return state_.next_hops.sets();
}

#define INSTANTIATE(Family) template class Fib<Family>;
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
