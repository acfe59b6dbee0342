// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "functions/forwarding/fib.h"

namespace penumbra::forwarding {
template <class Family>
Fib<Family>::Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods, std::size_t lookup)
    : ports_(ports.begin(), ports.end()),
      table_(Family::make_table(grace_periods, lookup)),
      next_hops_(grace_periods, ports) {
  for (const PortInfo& port : ports) {
    if (!port.removed) port_indices_.emplace(port.name, port.index);
  }
  for (const auto& [prefix, direct] : direct_prefixes(ports)) set_interface(prefix, direct);
  table_.commit();
}

/// Returns the addresses and networks of all ports.
template <class Family>
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
template <class Family>
void Fib<Family>::set_interface(Prefix prefix, const std::optional<Direct>& direct) {
  Routes routes = routes_of(prefix);
  const auto found = interfaces_.find(prefix);
  std::optional<SetId> before;
  if (found != interfaces_.end()) before = found->second.set;
  if (direct) {
    const SetId set = acquire({direct->kind, {{.port = direct->port, .gateway = std::nullopt}}});
    interfaces_[prefix] = {set, direct->source};
  } else {
    interfaces_.erase(prefix);
  }
  change_routes(prefix, std::move(routes));
  if (before) next_hops_.release(*before);
}

template <class Family>
void Fib<Family>::set_ports(std::span<const PortInfo> ports) {
  const std::lock_guard lock(mutex_);
  const auto before = direct_prefixes(ports_), after = direct_prefixes(ports);
  ports_.assign(ports.begin(), ports.end());
  port_indices_.clear();
  for (const PortInfo& port : ports) {
    if (!port.removed) port_indices_.emplace(port.name, port.index);
  }
  next_hops_.set_ports(ports);
  // New prefixes are added before the prefixes that covered them are removed.
  for (const auto& [prefix, direct] : after) {
    const auto known = before.find(prefix);
    if (known == before.end() || known->second != direct) set_interface(prefix, direct);
  }
  for (const auto& [prefix, direct] : before) {
    if (!after.contains(prefix)) set_interface(prefix, std::nullopt);
  }
  commit_locked();
}

template <class Family>
std::uint16_t Fib<Family>::port_index(const std::string& name) const {
  const auto found = port_indices_.find(name);
  if (found == port_indices_.end()) throw std::invalid_argument("there is no port '" + name + "'");
  return found->second;
}

template <class Family>
TargetOf<Family> Fib<Family>::convert(const RouteTarget& target) const {
  if (target.kind == RouteTarget::Kind::blackhole) return {Target::Kind::blackhole, {}};
  if (target.kind == RouteTarget::Kind::unreachable) return {Target::Kind::unreachable, {}};
  Target result;
  result.hops.reserve(target.next_hops.size());
  for (const auto& hop : target.next_hops) {
    const std::uint16_t port = port_index(hop.port);
    result.hops.push_back(
        {.port = hop.inet6_gateway ? Hop::kHost : port, .gateway = hop.gateway, .weight = hop.weight});
  }
  check(result);
  return result;
}

template <class Family>
void Fib<Family>::check(const Target& target) const {
  if (target.kind == Target::Kind::unicast && target.hops.empty()) {
    throw std::invalid_argument("a route needs a next hop");
  }
  for (const Hop& hop : target.hops) {
    if (hop.weight == 0) throw std::invalid_argument("a next hop's weight is at least 1");
    if (hop.port == Hop::kHost ? hop.gateway.has_value() : hop.port >= ports_.size()) {
      throw std::invalid_argument("a next hop leads to a port, or to the host without gateway");
    }
  }
}

template <class Family>
bool Fib<Family>::needs_address(const Target& target) {
  return target.kind == Target::Kind::unicast &&
         std::any_of(target.hops.begin(), target.hops.end(),
                     [](const Hop& hop) { return !hop.gateway && hop.port != Hop::kHost; });
}

/// Returns the target for packets to this address only. Hops without gateway get the address as gateway.
template <class Family>
TargetOf<Family> Fib<Family>::for_address(Target target, Address address) {
  for (Hop& hop : target.hops) {
    if (hop.gateway || hop.port == Hop::kHost) continue;
    hop.gateway = address;
    hop.on_link = true;
  }
  return target;
}

template <class Family>
SetId Fib<Family>::acquire(const Target& target) {
  make_room();
  return next_hops_.acquire(target);
}

/// Waits for a grace period if there is no room, so that memory that is about to become free causes no error.
template <class Family>
void Fib<Family>::make_room() {
  if (next_hops_.has_room()) return;
  commit_locked();
  next_hops_.reclaim(true);
}

template <class Family>
void Fib<Family>::commit() {
  const std::lock_guard lock(mutex_);
  commit_locked();
}

template <class Family>
void Fib<Family>::commit_locked() {
  table_.commit();
  next_hops_.retire();
  next_hops_.reclaim(false);
}

template <class Family>
typename Fib<Family>::Routes Fib<Family>::routes_of(Prefix prefix) const {
  if (const auto found = routes_.find(prefix); found != routes_.end()) return found->second;
  if (interfaces_.contains(prefix)) return {};
  if (prefix.length == kHost && adjacencies_.contains(prefix.address)) return {};
  const auto active = table_.find(prefix);
  if (!active) return {};
  return {{.metric = usual_metric_, .set = *active}};
}

/// Returns the active set of a prefix that has these routes.
template <class Family>
std::optional<SetId> Fib<Family>::winner(Prefix prefix, const Routes& routes) const {
  if (const auto found = interfaces_.find(prefix); found != interfaces_.end()) return found->second.set;
  if (!routes.empty()) return routes.front().set;
  if (prefix.length == kHost) {
    if (const auto found = adjacencies_.find(prefix.address); found != adjacencies_.end()) return found->second.set;
  }
  return std::nullopt;
}

/// True if the look-up table alone stores the prefix's only route, given the route's metric. The table alone stores
/// nearly all of a million routes, which then need no further memory.
template <class Family>
bool Fib<Family>::table_remembers(Prefix prefix, std::uint32_t metric, std::uint32_t usual_metric) const {
  return metric == usual_metric && !interfaces_.contains(prefix) &&
         (prefix.length != kHost || !adjacencies_.contains(prefix.address));
}

/// Stores the routes of a prefix for routes_of(). The look-up table must already have its new state.
template <class Family>
void Fib<Family>::remember(Prefix prefix, Routes routes) {
  if (routes.empty() || (routes.size() == 1 && table_remembers(prefix, routes.front().metric, usual_metric_))) {
    routes_.erase(prefix);
  } else {
    routes_.insert_or_assign(prefix, std::move(routes));
  }
}

template <class Family>
void Fib<Family>::add_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, convert(target), false);
}

template <class Family>
void Fib<Family>::replace_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, convert(target), true);
}

template <class Family>
void Fib<Family>::replace_route(Prefix prefix, std::uint32_t metric, const Target& target) {
  const std::lock_guard lock(mutex_);
  check(target);
  set_route(prefix, metric, target, true);
}

template <class Family>
void Fib<Family>::set_route(Prefix prefix, std::uint32_t metric, Target target, bool may_exist) {
  Routes routes = routes_of(prefix);
  auto at = std::find_if(routes.begin(), routes.end(), [metric](const Route& route) { return route.metric >= metric; });
  const bool exists = at != routes.end() && at->metric == metric;
  if (exists && !may_exist) {
    throw std::invalid_argument("there is a route to " + to_string(prefix) + " with metric " + std::to_string(metric));
  }
  if (prefix.length == kHost && needs_address(target)) target = for_address(std::move(target), prefix.address);
  const SetId fresh = acquire(target);
  std::optional<SetId> old;
  if (exists) {
    old = std::exchange(at->set, fresh);
  } else {
    routes.insert(at, {.metric = metric, .set = fresh});
  }
  try {
    change_routes(prefix, std::move(routes));
  } catch (...) {
    next_hops_.release(fresh);
    throw;
  }
  if (old) next_hops_.release(*old);
}

template <class Family>
bool Fib<Family>::remove_route(Prefix prefix, std::uint32_t metric) {
  const std::lock_guard lock(mutex_);
  Routes routes = routes_of(prefix);
  const auto at =
      std::find_if(routes.begin(), routes.end(), [metric](const Route& route) { return route.metric == metric; });
  if (at == routes.end()) return false;
  const SetId old = at->set;
  routes.erase(at);
  change_routes(prefix, std::move(routes));
  next_hops_.release(old);
  return true;
}

/// Sets the routes of the prefix. New adjacencies are added before their cover changes, and old adjacencies are removed
/// after that. So no packet takes the covering route when it should reach the neighbour.
template <class Family>
void Fib<Family>::change_routes(Prefix prefix, Routes routes) {
  const Step step{prefix, table_.find(prefix), winner(prefix, routes)};
  if (step.before == step.after) return remember(prefix, std::move(routes));
  std::vector<AdjacencyChange> adjacency_changes = plan_adjacencies(prefix, step.after);
  std::vector<Step> steps;
  for (const auto& change : adjacency_changes) {
    if (const auto adjacency = adjacency_step(change); adjacency && adjacency->after) steps.push_back(*adjacency);
  }
  steps.push_back(step);
  for (const auto& change : adjacency_changes) {
    if (const auto adjacency = adjacency_step(change); adjacency && !adjacency->after) steps.push_back(*adjacency);
  }
  try {
    take(steps);
  } catch (...) {
    for (const auto& change : adjacency_changes) {
      if (change.set) next_hops_.release(*change.set);
    }
    throw;
  }
  for (const auto& change : adjacency_changes) settle(change);
  remember(prefix, std::move(routes));
}

/// Returns the changes of the adjacencies below `prefix` if the prefix leads to `after`. The new sets are acquired.
template <class Family>
std::vector<typename Fib<Family>::AdjacencyChange> Fib<Family>::plan_adjacencies(Prefix prefix,
                                                                                 std::optional<SetId> after) {
  std::vector<AdjacencyChange> changes;
  if (prefix.length == kHost) return changes;
  std::optional<std::pair<int, std::optional<SetId>>>
      cover;  // the same for all adjacencies whose cover `prefix` is or was
  if (after) cover = {prefix.length, after};
  try {
    const Address last = prefix.last();
    for (auto at = adjacencies_.lower_bound(prefix.address); at != adjacencies_.end() && at->first <= last; ++at) {
      if (at->second.cover > prefix.length) continue;
      if (!cover) cover = cover_of(prefix.address, prefix.length - 1);
      changes.push_back({at, cover->first, std::nullopt});
      changes.back().set = acquire_adjacency(at->first, at->second, cover->second);
    }
  } catch (...) {
    for (const auto& change : changes) {
      if (change.set) next_hops_.release(*change.set);
    }
    throw;
  }
  return changes;
}

/// Returns the length and the set of the longest prefix of at most `longest` bits that covers the address. The length
/// is -1 if there is no such prefix.
template <class Family>
std::pair<int, std::optional<SetId>> Fib<Family>::cover_of(Address address, int longest) const {
  for (int length = longest; length >= 0; --length) {
    const Prefix prefix = Prefix::around(address, static_cast<std::uint8_t>(length));
    if (const auto found = table_.find(prefix)) return {length, found};
  }
  return {-1, std::nullopt};
}

/// Returns the cover's target with the address as gateway of hops without one. Returns std::nullopt if no such hop
/// leads to the known neighbour.
template <class Family>
std::optional<TargetOf<Family>> Fib<Family>::adjacency_target(Address address, const Adjacency& adjacency,
                                                              SetId cover) const {
  const Target& target = next_hops_.target(cover);
  if (target.kind != Target::Kind::unicast) return std::nullopt;
  const auto reaches_neighbour = [&](const Hop& hop) { return !hop.gateway && adjacency.ports.contains(hop.port); };
  if (std::none_of(target.hops.begin(), target.hops.end(), reaches_neighbour)) return std::nullopt;
  return for_address(target, address);
}

template <class Family>
std::optional<SetId> Fib<Family>::acquire_adjacency(Address address, const Adjacency& adjacency,
                                                    std::optional<SetId> cover) {
  if (!cover) return std::nullopt;
  const auto target = adjacency_target(address, adjacency, *cover);
  return target ? std::optional(acquire(*target)) : std::nullopt;
}

/// Returns the step of the look-up table for this change. Returns std::nullopt if a route or an address of the router
/// has priority at the address.
template <class Family>
std::optional<typename Fib<Family>::Step> Fib<Family>::adjacency_step(const AdjacencyChange& change) const {
  const Prefix host{change.at->first, kHost};
  if (change.set == change.at->second.set || interfaces_.contains(host) || routes_.contains(host)) return std::nullopt;
  return Step{host, change.at->second.set, change.set};
}

/// Applies all steps or none.
template <class Family>
void Fib<Family>::take(std::span<const Step> steps) {
  std::size_t taken = 0;
  try {
    for (; taken < steps.size(); ++taken) enter(steps[taken].prefix, steps[taken].after);
  } catch (...) {
    while (taken-- > 0) enter(steps[taken].prefix, steps[taken].before);
    throw;
  }
}

template <class Family>
void Fib<Family>::enter(Prefix prefix, std::optional<SetId> set) {
  if (set) {
    table_.insert(prefix, *set);
  } else {
    table_.remove(prefix);
  }
}

/// Records the change after the look-up table has applied it.
template <class Family>
void Fib<Family>::settle(const AdjacencyChange& change) {
  change.at->second.cover = change.cover;
  if (const auto old = std::exchange(change.at->second.set, change.set)) next_hops_.release(*old);
}

}  // namespace penumbra::forwarding
