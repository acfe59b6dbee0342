// SPDX-License-Identifier: Apache-2.0
//
// Implements bulk loading: builds a whole table next to the active table and then replaces the active table in one
// step.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>

#include "functions/forwarding/fib.h"

namespace penumbra::forwarding {
namespace detail {

template <class Family>
bool comes_before(const control::RouteOf<typename Family::AddressFamily>& a,
                  const control::RouteOf<typename Family::AddressFamily>& b) {
  return std::tie(a.prefix, a.metric) < std::tie(b.prefix, b.metric);
}

/// Returns the metric that more than half of the routes have. If there is none, any metric is returned (Boyer and
/// Moore's majority vote).
template <class Family>
std::uint32_t usual_metric(std::span<const control::RouteOf<typename Family::AddressFamily>> routes) {
  std::uint32_t candidate = 0;
  std::size_t votes = 0;
  for (const control::RouteOf<typename Family::AddressFamily>& route : routes) {
    if (votes == 0) candidate = route.metric;
    votes += route.metric == candidate ? 1 : std::size_t{0} - 1;
  }
  return candidate;
}

}  // namespace detail

template <class Family>
struct Fib<Family>::Content {
  std::vector<typename LookupTable::Entry> entries;  ///< sorted by prefix, without adjacencies
  std::vector<typename LookupTable::Entry> adjacent;
  RoutesByPrefix routes;
  std::uint32_t usual_metric = 0;
  std::vector<SetId> host_sets;                    ///< acquired for single host routes
  std::vector<AdjacencyChange> adjacency_changes;  ///< changes of all adjacencies; their sets are acquired
  std::vector<std::uint32_t> references = std::vector<std::uint32_t>(NextHops<Family>::kMaxSets, 0);
};

template <class Family>
void Fib<Family>::load(const RouteList& list) {
  const std::lock_guard lock(mutex_);
  std::vector<SetId> sets;
  Content content;
  content.usual_metric = detail::usual_metric<Family>(list.routes);
  try {
    // A target that no route uses any more may name a removed port.
    std::vector<bool> is_used(list.targets.size());
    for (const auto& route : list.routes) is_used[route.target] = true;
    for (std::size_t i = 0; i < list.targets.size(); ++i) {
      sets.push_back(acquire(is_used[i] ? convert(list.targets[i]) : Target{Target::Kind::blackhole, {}}));
    }
    fill(content, list, sets);
    cover_adjacencies(content);
    content.entries.insert(content.entries.end(), content.adjacent.begin(), content.adjacent.end());
    table_.load(content.entries);
  } catch (...) {
    for (const SetId set : sets) next_hops_.release(set);
    for (const SetId set : content.host_sets) next_hops_.release(set);
    for (const auto& change : content.adjacency_changes) {
      if (change.set) next_hops_.release(*change.set);
    }
    throw;
  }
  routes_ = std::move(content.routes);
  usual_metric_ = content.usual_metric;
  for (const auto& change : content.adjacency_changes) {
    change.at->second.cover = change.cover;
    change.at->second.set = change.set;
  }
  next_hops_.set_references(content.references);
  commit_locked();
}

/// Fills everything except the adjacencies. Sorting places the routes of one prefix next to each other, the lowest
/// metric first.
template <class Family>
void Fib<Family>::fill(Content& content, const RouteList& list, std::span<const SetId> sets) {
  std::vector<control::RouteOf<typename Family::AddressFamily>> sorted;
  std::span<const control::RouteOf<typename Family::AddressFamily>> routes = list.routes;
  if (!std::is_sorted(routes.begin(), routes.end(), detail::comes_before<Family>)) {
    sorted = list.routes;
    std::sort(sorted.begin(), sorted.end(), detail::comes_before<Family>);
    routes = sorted;
  }
  content.entries.reserve(routes.size() + interfaces_.size() + adjacencies_.size());
  auto interface = interfaces_.begin();
  const auto add_interface_entry = [&] {
    content.entries.push_back({interface->first, interface->second.set});
    ++content.references[interface->second.set];
    ++interface;
  };
  std::vector<bool> per_address;
  for (const SetId set : sets) per_address.push_back(needs_address(next_hops_.target(set)));
  const auto set_of = [&](const control::RouteOf<typename Family::AddressFamily>& route) {
    const SetId set = sets[route.target];
    if (route.prefix.length != kHost || !per_address[route.target]) return set;
    content.host_sets.push_back(acquire(for_address(next_hops_.target(set), route.prefix.address)));
    return content.host_sets.back();
  };
  for (std::size_t i = 0; i < routes.size();) {
    const Prefix prefix = routes[i].prefix;
    std::size_t end = i + 1;
    while (end < routes.size() && routes[end].prefix == prefix) ++end;
    while (interface != interfaces_.end() && interface->first < prefix) add_interface_entry();
    const SetId best = set_of(routes[i]);
    ++content.references[best];
    if (interface != interfaces_.end() && interface->first == prefix) {
      add_interface_entry();
    } else {
      content.entries.push_back({prefix, best});
    }
    if (end > i + 1 || !table_remembers(prefix, routes[i].metric, content.usual_metric)) {
      Routes& all = content.routes[prefix];
      all.push_back({.metric = routes[i].metric, .set = best});
      while (++i < end) {
        all.push_back({.metric = routes[i].metric, .set = set_of(routes[i])});
        ++content.references[all.back().set];
      }
    }
    i = end;
  }
  while (interface != interfaces_.end()) add_interface_entry();
}

/// Finds the cover of each adjacency in one pass over the sorted entries. A stack holds the prefixes that contain the
/// current address.
template <class Family>
void Fib<Family>::cover_adjacencies(Content& content) {
  std::vector<const typename LookupTable::Entry*> around;
  auto next = content.entries.cbegin();
  const auto end = content.entries.cend();
  for (auto at = adjacencies_.begin(); at != adjacencies_.end(); ++at) {
    const Prefix host{at->first, kHost};
    for (; next != end && next->prefix < host; ++next) {
      if (next->prefix.length == kHost) continue;
      while (!around.empty() && !around.back()->prefix.contains(next->prefix.address)) around.pop_back();
      around.push_back(&*next);
    }
    while (!around.empty() && !around.back()->prefix.contains(at->first)) around.pop_back();
    AdjacencyChange change{at, -1, std::nullopt};
    if (!around.empty()) {
      change.cover = around.back()->prefix.length;
      change.set = acquire_adjacency(at->first, at->second, around.back()->next_hop);
    }
    content.adjacency_changes.push_back(change);
    if (!change.set) continue;
    ++content.references[*change.set];
    if (next == end || next->prefix != host) content.adjacent.push_back({host, *change.set});
  }
}

}  // namespace penumbra::forwarding
