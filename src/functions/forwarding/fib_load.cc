// SPDX-License-Identifier: Apache-2.0
//
// Implements bulk loading: builds a whole table next to the active table and then replaces the active table in one
// step.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "functions/forwarding/families.h"
#include "functions/forwarding/fib_state.h"

namespace penumbra::forwarding {
namespace {

/// Returns the metric that more than half of the routes have. If there is none, any metric is returned (Boyer and
/// Moore's majority vote).
template <ForwardingFamily Family>
std::uint32_t usual_metric(std::span<const control::RouteOf<typename Family::AddressFamily>> routes) {
  std::uint32_t candidate = 0;
  std::size_t votes = 0;
  for (const control::RouteOf<typename Family::AddressFamily>& route : routes) {
    if (votes == 0) candidate = route.metric;
    votes += route.metric == candidate ? 1 : std::size_t{0} - 1;
  }
  return candidate;
}

/// Builds the new table for the routes of a list.
template <ForwardingFamily Family>
class RouteLoad {
 public:
  using RouteList = control::RouteListOf<typename Family::AddressFamily>;
  using State = FibState<Family>;

  explicit RouteLoad(State& state) : state_(state) {}
  void run(const PortNames<Family>& names, const RouteList& list);

 private:
  using Route = control::RouteOf<typename Family::AddressFamily>;
  using Prefix = typename Family::Prefix;
  using Target = TargetOf<Family>;
  using Entry = typename Family::LookupTable::Entry;
  static constexpr std::uint8_t kHost = State::kHost;

  void fill(const RouteList& list, std::span<const SetId> sets);
  void cover_adjacencies();

  State& state_;
  std::vector<Entry> entries_;  ///< sorted by prefix, without adjacencies
  std::vector<Entry> adjacent_;
  typename State::RoutesByPrefix routes_;
  std::uint32_t usual_metric_ = 0;
  std::vector<SetId> host_sets_;                                    ///< acquired for single host routes
  std::vector<typename State::AdjacencyChange> adjacency_changes_;  ///< of all adjacencies; their sets are acquired
  std::vector<std::uint32_t> references_ = std::vector<std::uint32_t>(NextHops<Family>::kMaxSets, 0);
};

template <ForwardingFamily Family>
void RouteLoad<Family>::run(const PortNames<Family>& names, const RouteList& list) {
  std::vector<SetId> sets;
  usual_metric_ = usual_metric<Family>(list.routes);
  try {
    // A target that no route uses any more may name a removed port.
    std::vector<bool> is_used(list.targets.size());
    for (const auto& route : list.routes) is_used[route.target] = true;
    for (std::size_t i = 0; i < list.targets.size(); ++i) {
      sets.push_back(
          state_.acquire(is_used[i] ? names.to_target(list.targets[i]) : Target{Target::Kind::blackhole, {}}));
    }
    fill(list, sets);
    cover_adjacencies();
    entries_.insert(entries_.end(), adjacent_.begin(), adjacent_.end());
    state_.table.load(entries_);
  } catch (...) {
    for (const SetId set : sets) state_.next_hops.release(set);
    for (const SetId set : host_sets_) state_.next_hops.release(set);
    for (const auto& change : adjacency_changes_) {
      if (change.set) state_.next_hops.release(*change.set);
    }
    throw;
  }
  state_.routes = std::move(routes_);
  state_.usual_metric = usual_metric_;
  for (const auto& change : adjacency_changes_) {
    change.at->second.cover = change.cover;
    change.at->second.set = change.set;
  }
  state_.next_hops.set_references(references_);
  state_.commit();
}

/// Fills everything except the adjacencies. Sorting places the routes of one prefix next to each other, the lowest
/// metric first.
template <ForwardingFamily Family>
void RouteLoad<Family>::fill(const RouteList& list, std::span<const SetId> sets) {
  std::vector<Route> sorted;
  std::span<const Route> routes = list.routes;
  if (!std::ranges::is_sorted(routes, {}, &Route::key)) {
    sorted = list.routes;
    std::ranges::sort(sorted, {}, &Route::key);
    routes = sorted;
  }
  entries_.reserve(routes.size() + state_.interfaces.size() + state_.adjacencies.size());
  auto interface = state_.interfaces.begin();
  const auto add_interface_entry = [&] {
    entries_.push_back({interface->first, interface->second.set});
    ++references_[interface->second.set];
    ++interface;
  };
  std::vector<bool> per_address;
  for (const SetId set : sets) per_address.push_back(needs_address<Family>(state_.next_hops.target(set)));
  const auto set_of = [&](const Route& route) {
    const SetId set = sets[route.target];
    if (route.prefix.length != kHost || !per_address[route.target]) return set;
    host_sets_.push_back(state_.acquire(for_address<Family>(state_.next_hops.target(set), route.prefix.address)));
    return host_sets_.back();
  };
  for (std::size_t i = 0; i < routes.size();) {
    const Prefix prefix = routes[i].prefix;
    std::size_t end = i + 1;
    while (end < routes.size() && routes[end].prefix == prefix) ++end;
    while (interface != state_.interfaces.end() && interface->first < prefix) add_interface_entry();
    const SetId best = set_of(routes[i]);
    ++references_[best];
    if (interface != state_.interfaces.end() && interface->first == prefix) {
      add_interface_entry();
    } else {
      entries_.push_back({prefix, best});
    }
    if (end > i + 1 || !state_.table_remembers(prefix, routes[i].metric, usual_metric_)) {
      typename State::Routes& all = routes_[prefix];
      all.push_back({.metric = routes[i].metric, .set = best});
      while (++i < end) {
        all.push_back({.metric = routes[i].metric, .set = set_of(routes[i])});
        ++references_[all.back().set];
      }
    }
    i = end;
  }
  while (interface != state_.interfaces.end()) add_interface_entry();
}

/// Finds the cover of each adjacency in one pass over the sorted entries. A stack holds the prefixes that contain the
/// current address.
template <ForwardingFamily Family>
void RouteLoad<Family>::cover_adjacencies() {
  std::vector<const Entry*> around;
  auto next = entries_.cbegin();
  const auto end = entries_.cend();
  for (auto at = state_.adjacencies.begin(); at != state_.adjacencies.end(); ++at) {
    const Prefix host{at->first, kHost};
    for (; next != end && next->prefix < host; ++next) {
      if (next->prefix.length == kHost) continue;
      while (!around.empty() && !around.back()->prefix.contains(next->prefix.address)) around.pop_back();
      around.push_back(&*next);
    }
    while (!around.empty() && !around.back()->prefix.contains(at->first)) around.pop_back();
    typename State::AdjacencyChange change{at, -1, std::nullopt};
    if (!around.empty()) {
      change.cover = around.back()->prefix.length;
      change.set = state_.acquire_adjacency(at->first, at->second, around.back()->next_hop);
    }
    adjacency_changes_.push_back(change);
    if (!change.set) continue;
    ++references_[*change.set];
    if (next == end || next->prefix != host) adjacent_.push_back({host, *change.set});
  }
}

}  // namespace

template <ForwardingFamily Family>
void load_routes(FibState<Family>& state, const PortNames<Family>& names,
                 const control::RouteListOf<typename Family::AddressFamily>& list) {
  RouteLoad<Family>(state).run(names, list);
}

#define INSTANTIATE(Family)                                                      \
  template void load_routes<Family>(FibState<Family>&, const PortNames<Family>&, \
                                    const control::RouteListOf<Family::AddressFamily>&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
