// SPDX-License-Identifier: Apache-2.0
//
// Changes the routes and neighbours of the configuration for commands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/family.h"

namespace penumbra::forwarding {

/// Holds added, removed and changed routes. (prefix, metric) is unique.
template <ForwardingFamily Family>
struct RouteChanges {
  using Prefix = typename Family::Prefix;
  using Target = control::RouteTargetOf<typename Family::AddressFamily>;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Route {
    Prefix prefix;
    std::uint32_t metric = 0;
    std::uint32_t before = kNone, after = kNone;  ///< indices into targets; kNone if there is no such route

    std::pair<Prefix, std::uint32_t> key() const { return {prefix, metric}; }
  };
  std::vector<Target> targets;
  std::vector<Route> routes;

  RouteChanges reversed() const {
    RouteChanges changes = *this;
    for (Route& route : changes.routes) std::swap(route.before, route.after);
    return changes;
  }

  /// True if no address is in two of the prefixes. Each packet then takes the route before or after all changes, even
  /// if they are applied one by one.
  bool are_disjoint() const {
    std::vector<Prefix> prefixes;
    prefixes.reserve(routes.size());
    for (const Route& route : routes) prefixes.push_back(route.prefix);
    std::ranges::sort(prefixes);
    const auto overlap = [](const Prefix& a, const Prefix& b) { return a.contains(b.address); };
    return std::ranges::adjacent_find(prefixes, overlap) == prefixes.end();
  }
};

/// Selects the routes of some prefixes from a list.
template <ForwardingFamily Family>
class RoutesOfPrefixes {
 public:
  using Prefix = typename Family::Prefix;
  using Route = control::RouteOf<typename Family::AddressFamily>;

  /// Reads the list once. `wanted` may contain a prefix several times.
  RoutesOfPrefixes(std::span<const Route> list, std::vector<Prefix> wanted) {
    std::ranges::sort(wanted);
    for (const Route& route : list) {
      if (std::ranges::binary_search(wanted, route.prefix)) found_.push_back(route);
    }
    std::ranges::sort(found_, {}, &Route::key);
  }

  std::span<const Route> of(Prefix prefix) const {
    const auto [first, last] = std::ranges::equal_range(found_, prefix, {}, &Route::prefix);
    return {first, last};
  }
  const Route* find(Prefix prefix, std::uint32_t metric) const {
    const auto found = std::ranges::lower_bound(found_, std::pair(prefix, metric), {}, &Route::key);
    return found != found_.end() && found->key() == std::pair(prefix, metric) ? &*found : nullptr;
  }

 private:
  std::vector<Route> found_;  ///< sorted by prefix and metric
};

/// Applies the changes to the list, in one pass.
template <ForwardingFamily Family>
void change_list(control::RouteListOf<typename Family::AddressFamily>& list, const RouteChanges<Family>& changes) {
  using Changes = RouteChanges<Family>;
  std::vector<std::uint32_t> numbers(changes.targets.size(),
                                     Changes::kNone);  // target indices in the list, kNone until they are known
  const auto number_of = [&](std::uint32_t target) {
    if (numbers[target] == Changes::kNone) {
      const auto known = std::ranges::find(list.targets, changes.targets[target]);
      numbers[target] = static_cast<std::uint32_t>(known - list.targets.begin());
      if (known == list.targets.end()) list.targets.push_back(changes.targets[target]);
    }
    return numbers[target];
  };
  std::vector<const typename Changes::Route*> sorted;
  sorted.reserve(changes.routes.size());
  for (const auto& change : changes.routes) sorted.push_back(&change);
  const auto key_of = [](const auto* change) { return change->key(); };
  std::ranges::sort(sorted, {}, key_of);
  std::erase_if(list.routes, [&](auto& route) {
    const auto found = std::ranges::lower_bound(sorted, route.key(), {}, key_of);
    if (found == sorted.end() || key_of(*found) != route.key()) return false;
    if ((*found)->after == Changes::kNone) return true;
    route.target = number_of((*found)->after);
    return false;
  });
  for (const auto& change : changes.routes) {
    if (change.before != Changes::kNone || change.after == Changes::kNone) continue;
    list.routes.push_back({change.prefix, change.metric, number_of(change.after)});
  }
}

/// Represents an added or removed neighbour, or a neighbour with a new MAC address.
template <ForwardingFamily Family>
struct NeighbourChange {
  typename Family::Address address;
  std::string port;
  std::optional<MacAddress> before, after;
};

template <ForwardingFamily Family>
std::vector<NeighbourChange<Family>> reversed(std::vector<NeighbourChange<Family>> changes) {
  for (auto& change : changes) std::swap(change.before, change.after);
  return changes;
}

/// Returns the neighbour in a list, or the end of the list if there is none.
template <class Neighbours, class Address>
auto find_neighbour(Neighbours& list, Address address, const std::string& port) {
  return std::ranges::find_if(
      list, [&](const auto& neighbour) { return neighbour.address == address && neighbour.port == port; });
}

template <ForwardingFamily Family>
void change_list(std::vector<control::NeighbourOf<typename Family::AddressFamily>>& list,
                 std::span<const NeighbourChange<Family>> changes) {
  for (const auto& change : changes) {
    const auto known = find_neighbour(list, change.address, change.port);
    if (!change.after) {
      if (known != list.end()) list.erase(known);
    } else if (known != list.end()) {
      known->mac = *change.after;
    } else {
      list.push_back({change.address, change.port, *change.after});
    }
  }
}

}  // namespace penumbra::forwarding
