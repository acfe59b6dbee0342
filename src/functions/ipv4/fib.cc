// SPDX-License-Identifier: Apache-2.0
#include "functions/ipv4/fib.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace penumbra::ipv4 {
namespace {

constexpr std::uint8_t kHost = 32;

}  // namespace

Ipv4Fib::Ipv4Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods)
    : ports_(ports.begin(), ports.end()), table_(grace_periods), next_hops_(grace_periods, ports) {
  for (const PortInfo& port : ports) port_indices_.emplace(port.name, port.index);
  add_interfaces();
}

void Ipv4Fib::add_interfaces() {
  for (const PortInfo& port : ports_) {
    for (const auto& [address, network] : port.addresses) {
      add_interface({address, kHost}, Target::Kind::local, port.index, "local");
      if (network.length < kHost) add_interface(network, Target::Kind::unicast, port.index, "connected");
    }
  }
  for (const PortInfo& port : ports_) {
    for (const auto& [address, network] : port.addresses) {
      if (network.length >= 31) continue;  // RFC 3021: both addresses of a /31 are hosts
      for (const Ipv4Address edge : {network.address, network.last()}) {
        if (interfaces_.contains({edge, kHost})) continue;
        add_interface({edge, kHost}, Target::Kind::broadcast, port.index, "broadcast");
      }
    }
  }
  for (const auto& [prefix, interface] : interfaces_) table_.insert(prefix, interface.set);
  table_.commit();
}

void Ipv4Fib::add_interface(Ipv4Prefix prefix, Target::Kind kind, std::uint16_t port, std::string_view source) {
  if (const auto found = interfaces_.find(prefix); found != interfaces_.end()) {
    const std::uint16_t other = next_hops_.target(found->second.set).hops.front().port;
    if (other == port) return;
    throw std::invalid_argument(
        "ports '" + ports_[other].name + "' and '" + ports_[port].name + "' both have " +
        (kind == Target::Kind::local ? "address " + to_string(prefix.address) : "network " + to_string(prefix)));
  }
  interfaces_[prefix] = {acquire({kind, {{.port = port, .gateway = std::nullopt}}}), source};
}

void Ipv4Fib::set_ports(std::span<const PortInfo> ports) {
  const std::lock_guard lock(mutex_);
  ports_.assign(ports.begin(), ports.end());
  next_hops_.set_ports(ports);
}

std::uint16_t Ipv4Fib::port_index(const std::string& name) const {
  const auto found = port_indices_.find(name);
  if (found == port_indices_.end()) throw std::invalid_argument("there is no port '" + name + "'");
  return found->second;
}

Target Ipv4Fib::convert(const control::RouteTarget& target) const {
  if (target.kind == control::RouteTarget::Kind::blackhole) return {Target::Kind::blackhole, {}};
  if (target.kind == control::RouteTarget::Kind::unreachable) return {Target::Kind::unreachable, {}};
  Target result;
  result.hops.reserve(target.next_hops.size());
  for (const auto& hop : target.next_hops) {
    result.hops.push_back({.port = port_index(hop.port), .gateway = hop.gateway, .weight = hop.weight});
  }
  check(result);
  return result;
}

void Ipv4Fib::check(const Target& target) const {
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

bool Ipv4Fib::needs_address(const Target& target) {
  return target.kind == Target::Kind::unicast &&
         std::any_of(target.hops.begin(), target.hops.end(),
                     [](const Hop& hop) { return !hop.gateway && hop.port != Hop::kHost; });
}

/// The target for packets to this address only: hops without gateway lead to the address.
Target Ipv4Fib::for_address(Target target, Ipv4Address address) {
  for (Hop& hop : target.hops) {
    if (hop.gateway || hop.port == Hop::kHost) continue;
    hop.gateway = address;
    hop.on_link = true;
  }
  return target;
}

Ipv4Fib::SetId Ipv4Fib::acquire(const Target& target) {
  make_room();
  return next_hops_.acquire(target);
}

/// Room that only waits for its grace period is no reason to fail.
void Ipv4Fib::make_room() {
  if (next_hops_.has_room()) return;
  commit_locked();
  next_hops_.reclaim(true);
}

void Ipv4Fib::commit() {
  const std::lock_guard lock(mutex_);
  commit_locked();
}

void Ipv4Fib::commit_locked() {
  table_.commit();
  next_hops_.retire();
  next_hops_.reclaim(false);
}

Ipv4Fib::Routes Ipv4Fib::routes_of(Ipv4Prefix prefix) const {
  if (const auto found = routes_.find(prefix); found != routes_.end()) return found->second;
  if (interfaces_.contains(prefix)) return {};
  if (prefix.length == kHost && adjacencies_.contains(prefix.address)) return {};
  const auto active = table_.find(prefix);
  if (!active) return {};
  return {{.metric = usual_metric_, .set = *active}};
}

/// What counts for a prefix that has these routes.
std::optional<Ipv4Fib::SetId> Ipv4Fib::winner(Ipv4Prefix prefix, const Routes& routes) const {
  if (const auto found = interfaces_.find(prefix); found != interfaces_.end()) return found->second.set;
  if (!routes.empty()) return routes.front().set;
  if (prefix.length == kHost) {
    if (const auto found = adjacencies_.find(prefix.address); found != adjacencies_.end()) return found->second.set;
  }
  return std::nullopt;
}

/// Whether a prefix's only route, if it has this metric, is known from the look-up table alone. That is so for nearly
/// all of a million routes, which then take no further memory.
bool Ipv4Fib::table_remembers(Ipv4Prefix prefix, std::uint32_t metric, std::uint32_t usual_metric) const {
  return metric == usual_metric && !interfaces_.contains(prefix) &&
         (prefix.length != kHost || !adjacencies_.contains(prefix.address));
}

/// Keeps the routes of a prefix where routes_of() finds them, once the table is as it should be.
void Ipv4Fib::remember(Ipv4Prefix prefix, Routes routes) {
  if (routes.empty() || (routes.size() == 1 && table_remembers(prefix, routes.front().metric, usual_metric_))) {
    routes_.erase(prefix);
  } else {
    routes_.insert_or_assign(prefix, std::move(routes));
  }
}

void Ipv4Fib::add_route(Ipv4Prefix prefix, std::uint32_t metric, const control::RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, convert(target), false);
}

void Ipv4Fib::replace_route(Ipv4Prefix prefix, std::uint32_t metric, const control::RouteTarget& target) {
  const std::lock_guard lock(mutex_);
  set_route(prefix, metric, convert(target), true);
}

void Ipv4Fib::replace_route(Ipv4Prefix prefix, std::uint32_t metric, const Target& target) {
  const std::lock_guard lock(mutex_);
  check(target);
  set_route(prefix, metric, target, true);
}

void Ipv4Fib::set_route(Ipv4Prefix prefix, std::uint32_t metric, Target target, bool may_exist) {
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

bool Ipv4Fib::remove_route(Ipv4Prefix prefix, std::uint32_t metric) {
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

/// Makes these the routes of the prefix. Adjacencies come to stand before what covers them changes, and go after it
/// has changed, so that no packet finds the cover where it should find the neighbour.
void Ipv4Fib::change_routes(Ipv4Prefix prefix, Routes routes) {
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

/// What becomes of the adjacencies under a prefix if it leads to `after`. The new sets are acquired.
std::vector<Ipv4Fib::AdjacencyChange> Ipv4Fib::plan_adjacencies(Ipv4Prefix prefix, std::optional<SetId> after) {
  std::vector<AdjacencyChange> changes;
  if (prefix.length == kHost) return changes;
  std::optional<std::pair<int, std::optional<SetId>>> cover;  // the same for all: whose cover the prefix is or was
  if (after) cover = {prefix.length, after};
  try {
    const Ipv4Address last = prefix.last();
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

/// The longest prefix of at most `longest` bits that covers the address, -1 for none, and where it leads.
std::pair<int, std::optional<Ipv4Fib::SetId>> Ipv4Fib::cover_of(Ipv4Address address, int longest) const {
  for (int length = longest; length >= 0; --length) {
    Ipv4Prefix prefix{address, static_cast<std::uint8_t>(length)};
    prefix.address.value &= prefix.mask();
    if (const auto found = table_.find(prefix)) return {length, found};
  }
  return {-1, std::nullopt};
}

/// The cover's target with the address as gateway where it has none, if that leads to a neighbour that is known.
std::optional<Target> Ipv4Fib::adjacency_target(Ipv4Address address, const Adjacency& adjacency, SetId cover) const {
  const Target& target = next_hops_.target(cover);
  if (target.kind != Target::Kind::unicast) return std::nullopt;
  const auto reaches_neighbour = [&](const Hop& hop) { return !hop.gateway && adjacency.ports.contains(hop.port); };
  if (std::none_of(target.hops.begin(), target.hops.end(), reaches_neighbour)) return std::nullopt;
  return for_address(target, address);
}

std::optional<Ipv4Fib::SetId> Ipv4Fib::acquire_adjacency(Ipv4Address address, const Adjacency& adjacency,
                                                         std::optional<SetId> cover) {
  if (!cover) return std::nullopt;
  const auto target = adjacency_target(address, adjacency, *cover);
  return target ? std::optional(acquire(*target)) : std::nullopt;
}

/// What the change does to the table: nothing if there is a route or an address of the router at the /32.
std::optional<Ipv4Fib::Step> Ipv4Fib::adjacency_step(const AdjacencyChange& change) const {
  const Ipv4Prefix host{change.at->first, kHost};
  if (change.set == change.at->second.set || interfaces_.contains(host) || routes_.contains(host)) return std::nullopt;
  return Step{host, change.at->second.set, change.set};
}

/// All steps or none.
void Ipv4Fib::take(std::span<const Step> steps) {
  std::size_t taken = 0;
  try {
    for (; taken < steps.size(); ++taken) enter(steps[taken].prefix, steps[taken].after);
  } catch (...) {
    while (taken-- > 0) enter(steps[taken].prefix, steps[taken].before);
    throw;
  }
}

void Ipv4Fib::enter(Ipv4Prefix prefix, std::optional<SetId> set) {
  if (set) {
    table_.insert(prefix, *set);
  } else {
    table_.remove(prefix);
  }
}

/// The table has taken the change.
void Ipv4Fib::settle(const AdjacencyChange& change) {
  change.at->second.cover = change.cover;
  if (const auto old = std::exchange(change.at->second.set, change.set)) next_hops_.release(*old);
}

void Ipv4Fib::set_neighbour(const control::Neighbour& neighbour) {
  set_neighbour(port_index(neighbour.port), neighbour.address, neighbour.mac);
}

void Ipv4Fib::set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac) {
  const std::lock_guard lock(mutex_);
  make_room();
  const auto old = next_hops_.neighbour(port, address);
  if (!next_hops_.set_neighbour(port, address, mac) || old) return;

  const Ipv4Prefix host{address, kHost};
  const Routes routes = routes_of(host);
  const auto at = adjacencies_.try_emplace(address).first;
  at->second.ports.insert(port);
  remember(host, routes);  // the table alone can no longer tell a route from an adjacency
  try {
    const auto [length, cover] = cover_of(address, 31);
    const AdjacencyChange change{at, length, acquire_adjacency(at->first, at->second, cover)};
    try {
      if (const auto step = adjacency_step(change)) take({&*step, 1});
    } catch (...) {
      if (change.set) next_hops_.release(*change.set);
      throw;
    }
    settle(change);
  } catch (...) {
    forget_port(at, port);
    next_hops_.remove_neighbour(port, address);
    throw;
  }
}

bool Ipv4Fib::remove_neighbour(Ipv4Address address, const std::string& port) {
  return remove_neighbour(port_index(port), address);
}

bool Ipv4Fib::remove_neighbour(std::uint16_t port, Ipv4Address address) {
  const std::lock_guard lock(mutex_);
  if (!next_hops_.neighbour(port, address)) return false;
  make_room();
  const auto at = adjacencies_.find(address);
  Adjacency rest = at->second;
  rest.ports.erase(port);
  const auto [length, cover] = cover_of(address, 31);
  const AdjacencyChange change{at, length, acquire_adjacency(address, rest, cover)};
  try {
    if (const auto step = adjacency_step(change)) take({&*step, 1});
  } catch (...) {
    if (change.set) next_hops_.release(*change.set);
    throw;
  }
  next_hops_.remove_neighbour(port, address);  // make_room() has seen to it that this cannot fail
  settle(change);
  forget_port(at, port);
  return true;
}

void Ipv4Fib::forget_port(Adjacencies::iterator at, std::uint16_t port) {
  at->second.ports.erase(port);
  if (!at->second.ports.empty()) return;
  const Ipv4Prefix host{at->first, kHost};
  const Routes routes = routes_of(host);
  adjacencies_.erase(at);
  remember(host, routes);
}

}  // namespace penumbra::ipv4
