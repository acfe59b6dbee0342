// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/families.h"
#include "functions/forwarding/table_changes.h"

namespace penumbra::forwarding {
namespace {

template <ForwardingFamily Family>
using RouteOf = control::RouteOf<typename Family::AddressFamily>;
template <ForwardingFamily Family>
using RemovalOf = control::RouteRemovalOf<typename Family::AddressFamily>;

/// Returns a hint for the error message about a route that the configuration does not have.
template <ForwardingFamily Family>
std::string missing_route_hint(const Tables<Family>& tables, typename Family::Prefix prefix) {
  if (tables.subscription != nullptr) {
    std::string source;
    tables.subscription->visit(prefix, [&source](const FeedRow& row) {
      if (row.source != "static") source = row.source;
    });
    if (!source.empty()) return fmt::format(" of the configuration's own; the one that is there is of '{}'", source);
  }
  const auto rows = tables.fib.rows(prefix);
  const auto is_own = [](const auto& row) { return row.source != "route" && row.source != "neighbour"; };
  if (std::ranges::any_of(rows, is_own)) return ": the prefix is of a port's 'addresses', and goes with them";
  return "; `route show` lists the routes";
}

/// Returns the route that a line of `route del` names. Throws InputError if the line names no route or several.
template <ForwardingFamily Family>
const RouteOf<Family>& find_removed(const Tables<Family>& tables, const RemovalOf<Family>& removal,
                                    std::span<const RouteOf<Family>> routes, const CommandEntries& entries) {
  const auto error = [&](const std::string& message) {
    return control::error_in_line(entries.text, entries.name, removal.line, message);
  };
  const auto with_metric = [&](const RouteOf<Family>& route) {
    return !removal.metric || route.metric == *removal.metric;
  };
  const auto found = std::ranges::find_if(routes, with_metric);
  const std::string what = "to " + to_string(removal.prefix) +
                           (removal.metric ? " of metric " + std::to_string(*removal.metric) : std::string());
  if (found == routes.end()) throw error("there is no route " + what + missing_route_hint(tables, removal.prefix));
  if (!removal.metric && routes.size() > 1) {
    std::vector<std::uint32_t> metrics;
    for (const RouteOf<Family>& route : routes) metrics.push_back(route.metric);
    throw error(fmt::format("there are {} routes {}, of the metrics {}: name one with 'metric N'", routes.size(), what,
                            fmt::join(metrics, ", ")));
  }
  const auto& target = tables.configuration.routes.targets[found->target];
  if (removal.target && *removal.target != target) {
    throw error(fmt::format("the route {} is another one: {}", what, control::to_string(target)));
  }
  return *found;
}

/// Applies all changes or none.
template <ForwardingFamily Family>
void change_fib(Fib<Family>& fib, const RouteChanges<Family>& changes) {
  const auto lead = [&](const typename RouteChanges<Family>::Route& route, std::uint32_t target) {
    if (target == RouteChanges<Family>::kNone) {
      fib.remove_route(route.prefix, route.metric);
    } else {
      fib.replace_route(route.prefix, route.metric, changes.targets[target]);
    }
  };
  std::size_t done = 0;
  try {
    for (; done < changes.routes.size(); ++done) lead(changes.routes[done], changes.routes[done].after);
  } catch (...) {
    while (done-- > 0) lead(changes.routes[done], changes.routes[done].before);
    fib.commit();
    throw;
  }
  fib.commit();
}

template <ForwardingFamily Family>
void note_unsaved(Configuration<Family>& configuration, const RouteChanges<Family>& changes) {
  const auto target = [&](std::uint32_t number) {
    return number == RouteChanges<Family>::kNone ? std::nullopt : std::optional(changes.targets[number]);
  };
  for (const auto& route : changes.routes) {
    const auto at = configuration.saved_routes.try_emplace({route.prefix, route.metric}, target(route.before)).first;
    if (at->second == target(route.after)) configuration.saved_routes.erase(at);
  }
}

}  // namespace

template <ForwardingFamily Family>
RouteChanges<Family> added_routes(const Tables<Family>& tables, const CommandEntries& entries, bool may_exist) {
  auto [list, lines] =
      control::parse_route_entries<typename Family::AddressFamily>(entries.text, entries.name, names_of(tables.ports));
  std::vector<typename Family::Prefix> prefixes;
  prefixes.reserve(list.routes.size());
  for (const auto& route : list.routes) prefixes.push_back(route.prefix);
  const RoutesOfPrefixes<Family> own(tables.configuration.routes.routes, std::move(prefixes));
  RouteChanges<Family> changes{.targets = std::move(list.targets), .routes = {}};
  std::map<std::uint32_t, std::uint32_t> numbers;  // target index in the configuration -> index in `changes.targets`
  for (std::size_t i = 0; i < list.routes.size(); ++i) {
    const auto& [prefix, metric, target] = list.routes[i];
    const auto* const known = own.find(prefix, metric);
    if (known == nullptr) {
      changes.routes.push_back({.prefix = prefix, .metric = metric, .after = target});
      continue;
    }
    const auto& before = tables.configuration.routes.targets[known->target];
    if (!may_exist) {
      throw control::error_in_line(entries.text, entries.name, lines[i],
                                   fmt::format("there is a route to {} of metric {} already ({}); `route replace` "
                                               "changes it, another 'metric' adds a second one",
                                               to_string(prefix), metric, control::to_string(before)));
    }
    if (before == changes.targets[target]) continue;
    const auto [at, is_new] = numbers.try_emplace(known->target, static_cast<std::uint32_t>(changes.targets.size()));
    if (is_new) changes.targets.push_back(before);
    changes.routes.push_back({prefix, metric, at->second, target});
  }
  return changes;
}

template <ForwardingFamily Family>
RouteChanges<Family> removed_routes(const Tables<Family>& tables, const CommandEntries& entries) {
  const auto removals =
      control::parse_route_removals<typename Family::AddressFamily>(entries.text, entries.name, names_of(tables.ports));
  std::vector<typename Family::Prefix> prefixes;
  prefixes.reserve(removals.size());
  for (const auto& removal : removals) prefixes.push_back(removal.prefix);
  const RoutesOfPrefixes<Family> own(tables.configuration.routes.routes, std::move(prefixes));
  RouteChanges<Family> changes;
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::map<std::pair<typename Family::Prefix, std::uint32_t>, int> lines;
  for (const auto& removal : removals) {
    const RouteOf<Family>& route = find_removed(tables, removal, own.of(removal.prefix), entries);
    const auto [first, is_first] = lines.try_emplace({route.prefix, route.metric}, removal.line);
    if (!is_first) {
      throw control::error_in_line(entries.text, entries.name, removal.line,
                                   fmt::format("line {} removes this route already", first->second));
    }
    const auto [at, is_new] = numbers.try_emplace(route.target, static_cast<std::uint32_t>(changes.targets.size()));
    if (is_new) changes.targets.push_back(tables.configuration.routes.targets[route.target]);
    changes.routes.push_back({.prefix = route.prefix, .metric = route.metric, .before = at->second});
  }
  return changes;
}

template <ForwardingFamily Family>
void change_routes(Tables<Family>& tables, const RouteChanges<Family>& changes) {
  if (tables.subscription == nullptr && !changes.are_disjoint()) {
    // Single changes would expose packets to states that belong neither to the old table nor to the new one.
    auto list = tables.configuration.routes;
    change_list(list, changes);
    tables.fib.load(list);
    tables.configuration.routes = std::move(list);
    return note_unsaved(tables.configuration, changes);
  }
  if (tables.subscription != nullptr) {
    Configuration<Family> own;
    own.routes.targets = changes.targets;
    FeedRequest request = tables.request_of(own);
    auto& routes = request.routes_of<typename Family::AddressFamily>();
    for (const auto& route : changes.routes) routes.push_back({route.prefix, route.metric, route.after});
    tables.subscription->change_own(request);
  } else {
    change_fib(tables.fib, changes);
  }
  change_list(tables.configuration.routes, changes);
  note_unsaved(tables.configuration, changes);
}

#define INSTANTIATE(Family)                                                                               \
  template RouteChanges<Family> added_routes<Family>(const Tables<Family>&, const CommandEntries&, bool); \
  template RouteChanges<Family> removed_routes<Family>(const Tables<Family>&, const CommandEntries&);     \
  template void change_routes<Family>(Tables<Family>&, const RouteChanges<Family>&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
