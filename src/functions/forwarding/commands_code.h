// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "functions/forwarding/commands.h"
#include "functions/forwarding/function.h"
#include "functions/forwarding/own_routes.h"
#include "penumbra/errors.h"

namespace penumbra::forwarding {
namespace detail {

/// Counts the added, removed and changed entries.
template <class Changes, class Before, class After>
Change::Counts count(const Changes& changes, const Before& has_before, const After& has_after) {
  Change::Counts counts;
  for (const auto& change : changes) {
    ++(!has_before(change) ? counts.added : !has_after(change) ? counts.removed : counts.changed);
  }
  return counts;
}

/// Applies the changes through a member function of the forwarding function.
template <class FunctionType, class Changes, class Reverse>
class ForwardingChange final : public Change {
 public:
  using Make = void (FunctionType::*)(const Changes&);
  ForwardingChange(FunctionType& function, Make make, Changes changes, Reverse reverse, Counts counts)
      : function_(function), make_(make), changes_(std::move(changes)), reverse_(reverse), counts_(counts) {}

  void apply() override { (function_.*make_)(changes_); }
  void undo() override { (function_.*make_)(reverse_(changes_)); }
  Counts counts() const override { return counts_; }

 private:
  FunctionType& function_;
  Make make_;
  Changes changes_;
  Reverse reverse_;
  Counts counts_;
};

template <class FunctionType, class Changes, class Reverse>
std::unique_ptr<Change> make_change(FunctionType& function, void (FunctionType::*make)(const Changes&), Changes changes,
                                    Reverse reverse, Change::Counts counts) {
  return std::make_unique<ForwardingChange<FunctionType, Changes, Reverse>>(function, make, std::move(changes), reverse,
                                                                            counts);
}

inline std::vector<std::string> names_of(std::span<const PortInfo> ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortInfo& port : ports) {
    if (!port.removed) names.push_back(port.name);
  }
  return names;
}

}  // namespace detail

template <class Family>
std::vector<FunctionCommand> commands() {
  constexpr auto kSelect = [](std::string_view text) {
    return lines_of_family(text, std::is_same_v<typename Family::AddressFamily, Ipv6>);
  };
  const std::string route =
      "[blackhole|unreachable] PREFIX [via ADDRESS] [dev PORT] [metric N] [nexthop via ADDRESS dev PORT weight N]...";
  const std::string neighbour = "ADDRESS dev PORT lladdr MAC";
  return {{.name = "route",
           .help = "Add and remove routes of a running router, as `ip route` does",
           .actions = {{"add", "Add routes that are not there yet", route},
                       {"del", "Remove routes", "PREFIX [metric N]"},
                       {"replace", "Add routes, or let those that are there lead elsewhere", route}},
           .topic = "routes",
           .select = kSelect},
          {.name = "neighbour",
           .help = "Add and remove neighbours of a running router, as `ip neigh` does",
           .actions = {{"add", "Add neighbours that are not there yet", neighbour},
                       {"del", "Remove neighbours", "ADDRESS dev PORT"},
                       {"replace", "Add neighbours, or give those that are there another MAC address", neighbour}},
           .topic = "neighbours",
           .select = kSelect}};
}

template <class Family>
std::unique_ptr<Change> ForwardingFunction<Family>::prepare(std::string_view command, std::string_view action,
                                                            const CommandEntries& entries) {
  if (command == "neighbour") {
    if (subscription_ != nullptr) {
      throw std::invalid_argument(
          "the neighbours are the host's, as the configuration has 'follow': change them there (`ip neigh`)");
    }
    auto changes = action == "del" ? removed_neighbours(entries) : added_neighbours(entries, action == "replace");
    const auto counts = detail::count(
        changes, [](const auto& change) { return change.before.has_value(); },
        [](const auto& change) { return change.after.has_value(); });
    return detail::make_change(*this, &ForwardingFunction::change_neighbours, std::move(changes), &reversed<Family>,
                               counts);
  }
  auto changes = action == "del" ? removed_routes(entries) : added_routes(entries, action == "replace");
  const auto counts = detail::count(
      changes.routes, [](const auto& route) { return route.before != Routes::kNone; },
      [](const auto& route) { return route.after != Routes::kNone; });
  return detail::make_change(
      *this, &ForwardingFunction::change_routes, std::move(changes), [](const Routes& all) { return all.reversed(); },
      counts);
}

template <class Family>
typename ForwardingFunction<Family>::Routes ForwardingFunction<Family>::added_routes(const CommandEntries& entries,
                                                                                     bool may_exist) const {
  auto [list, lines] = control::parse_route_entries<typename Family::AddressFamily>(entries.text, entries.name,
                                                                                    detail::names_of(ports_));
  std::vector<Prefix> prefixes;
  prefixes.reserve(list.routes.size());
  for (const auto& route : list.routes) prefixes.push_back(route.prefix);
  const RoutesOfPrefixes<Family> own(configuration_.routes.routes, std::move(prefixes));
  Routes changes{.targets = std::move(list.targets), .routes = {}};
  std::map<std::uint32_t, std::uint32_t> numbers;  // target index in the configuration -> index in `changes.targets`
  for (std::size_t i = 0; i < list.routes.size(); ++i) {
    const auto& [prefix, metric, target] = list.routes[i];
    const auto* const known = own.find(prefix, metric);
    if (known == nullptr) {
      changes.routes.push_back({.prefix = prefix, .metric = metric, .after = target});
      continue;
    }
    const auto& before = configuration_.routes.targets[known->target];
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

/// Returns the route that a line of `route del` names. Throws InputError if the line names no route or several.
template <class Family>
auto ForwardingFunction<Family>::find_removed(const Removal& removal, std::span<const OwnRoute> routes,
                                              const CommandEntries& entries) const -> const OwnRoute& {
  const auto error = [&](const std::string& message) {
    return control::error_in_line(entries.text, entries.name, removal.line, message);
  };
  const auto with_metric = [&](const OwnRoute& route) { return !removal.metric || route.metric == *removal.metric; };
  const auto found = std::ranges::find_if(routes, with_metric);
  const std::string what = "to " + to_string(removal.prefix) +
                           (removal.metric ? " of metric " + std::to_string(*removal.metric) : std::string());
  if (found == routes.end()) throw error("there is no route " + what + missing_route_hint(removal.prefix));
  if (!removal.metric && routes.size() > 1) {
    std::vector<std::uint32_t> metrics;
    for (const OwnRoute& route : routes) metrics.push_back(route.metric);
    throw error(fmt::format("there are {} routes {}, of the metrics {}: name one with 'metric N'", routes.size(), what,
                            fmt::join(metrics, ", ")));
  }
  const auto& target = configuration_.routes.targets[found->target];
  if (removal.target && *removal.target != target) {
    throw error(fmt::format("the route {} is another one: {}", what, control::to_string(target)));
  }
  return *found;
}

/// Returns a hint for the error message about a route that the configuration does not have.
template <class Family>
std::string ForwardingFunction<Family>::missing_route_hint(Prefix prefix) const {
  if (subscription_ != nullptr) {
    std::string source;
    subscription_->visit(prefix, [&source](const FeedRow& row) {
      if (row.source != "static") source = row.source;
    });
    if (!source.empty()) return fmt::format(" of the configuration's own; the one that is there is of '{}'", source);
  }
  const auto rows = fib_.rows(prefix);
  const auto is_own = [](const auto& row) { return row.source != "route" && row.source != "neighbour"; };
  if (std::ranges::any_of(rows, is_own)) return ": the prefix is of a port's 'addresses', and goes with them";
  return "; `route show` lists the routes";
}

template <class Family>
typename ForwardingFunction<Family>::Routes ForwardingFunction<Family>::removed_routes(
    const CommandEntries& entries) const {
  const auto removals = control::parse_route_removals<typename Family::AddressFamily>(entries.text, entries.name,
                                                                                      detail::names_of(ports_));
  std::vector<Prefix> prefixes;
  prefixes.reserve(removals.size());
  for (const auto& removal : removals) prefixes.push_back(removal.prefix);
  const RoutesOfPrefixes<Family> own(configuration_.routes.routes, std::move(prefixes));
  Routes changes;
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::map<std::pair<Prefix, std::uint32_t>, int> lines;
  for (const auto& removal : removals) {
    const OwnRoute& route = find_removed(removal, own.of(removal.prefix), entries);
    const auto [first, is_first] = lines.try_emplace({route.prefix, route.metric}, removal.line);
    if (!is_first) {
      throw control::error_in_line(entries.text, entries.name, removal.line,
                                   fmt::format("line {} removes this route already", first->second));
    }
    const auto [at, is_new] = numbers.try_emplace(route.target, static_cast<std::uint32_t>(changes.targets.size()));
    if (is_new) changes.targets.push_back(configuration_.routes.targets[route.target]);
    changes.routes.push_back({.prefix = route.prefix, .metric = route.metric, .before = at->second});
  }
  return changes;
}

template <class Family>
void ForwardingFunction<Family>::change_routes(const Routes& changes) {
  if (subscription_ == nullptr && !changes.are_disjoint()) {
    // Single changes would expose packets to states that belong neither to the old table nor to the new one.
    auto list = configuration_.routes;
    change_list(list, changes);
    fib_.load(list);
    configuration_.routes = std::move(list);
    return note_unsaved(changes);
  }
  if (subscription_ != nullptr) {
    Configuration<Family> own;
    own.routes.targets = changes.targets;
    FeedRequest request = to_request(own, ports_);
    auto& routes = request.routes_of<typename Family::AddressFamily>();
    for (const auto& route : changes.routes) routes.push_back({route.prefix, route.metric, route.after});
    subscription_->change_own(request);
  } else {
    change_fib(changes);
  }
  change_list(configuration_.routes, changes);
  note_unsaved(changes);
}

/// Applies all changes or none.
template <class Family>
void ForwardingFunction<Family>::change_fib(const Routes& changes) {
  const auto lead = [&](const typename Routes::Route& route, std::uint32_t target) {
    if (target == Routes::kNone) {
      fib_.remove_route(route.prefix, route.metric);
    } else {
      fib_.replace_route(route.prefix, route.metric, changes.targets[target]);
    }
  };
  std::size_t done = 0;
  try {
    for (; done < changes.routes.size(); ++done) lead(changes.routes[done], changes.routes[done].after);
  } catch (...) {
    while (done-- > 0) lead(changes.routes[done], changes.routes[done].before);
    fib_.commit();
    throw;
  }
  fib_.commit();
}

template <class Family>
typename ForwardingFunction<Family>::NeighbourChanges ForwardingFunction<Family>::added_neighbours(
    const CommandEntries& entries, bool may_exist) const {
  NeighbourChanges changes;
  for (const auto& [neighbour, line] : control::parse_neighbour_entries<typename Family::AddressFamily>(
           entries.text, entries.name, detail::names_of(ports_), false)) {
    const auto& [address, port, mac] = neighbour;
    const auto known = find_neighbour(configuration_.neighbours, address, port);
    if (known == configuration_.neighbours.end()) {
      changes.push_back({address, port, std::nullopt, mac});
    } else if (!may_exist) {
      throw control::error_in_line(entries.text, entries.name, line,
                                   fmt::format("there is a neighbour {} on {} already ({}); `neighbour replace` "
                                               "changes it",
                                               to_string(address), quote(port), to_string(known->mac)));
    } else if (known->mac != mac) {
      changes.push_back({address, port, known->mac, mac});
    }
  }
  return changes;
}

template <class Family>
typename ForwardingFunction<Family>::NeighbourChanges ForwardingFunction<Family>::removed_neighbours(
    const CommandEntries& entries) const {
  NeighbourChanges changes;
  for (const auto& [neighbour, line] : control::parse_neighbour_entries<typename Family::AddressFamily>(
           entries.text, entries.name, detail::names_of(ports_), true)) {
    const auto& [address, port, mac] = neighbour;
    const auto known = find_neighbour(configuration_.neighbours, address, port);
    if (known == configuration_.neighbours.end() || (mac.value != 0 && mac != known->mac)) {
      throw control::error_in_line(
          entries.text, entries.name, line,
          fmt::format("there is no neighbour {}{} on {}; `neighbour show` lists those that "
                      "there are",
                      to_string(address), mac.value == 0 ? "" : " with this MAC address", quote(port)));
    }
    changes.push_back({address, port, known->mac, std::nullopt});
  }
  return changes;
}

/// Applies all changes or none.
template <class Family>
void ForwardingFunction<Family>::change_neighbours(const NeighbourChanges& changes) {
  const auto set = [this](const NeighbourChange<Family>& change, const std::optional<MacAddress>& mac) {
    if (mac) {
      fib_.set_neighbour({change.address, change.port, *mac});
    } else {
      fib_.remove_neighbour(change.address, change.port);
    }
  };
  std::size_t done = 0;
  try {
    for (; done < changes.size(); ++done) set(changes[done], changes[done].after);
  } catch (...) {
    while (done-- > 0) set(changes[done], changes[done].before);
    fib_.commit();
    throw;
  }
  fib_.commit();
  change_list<Family>(configuration_.neighbours, changes);
  for (const auto& change : changes) {
    const auto at = configuration_.saved_neighbours.try_emplace({change.port, change.address}, change.before).first;
    if (at->second == change.after) configuration_.saved_neighbours.erase(at);
  }
}

template <class Family>
void ForwardingFunction<Family>::note_unsaved(const Routes& changes) {
  const auto target = [&](std::uint32_t number) {
    return number == Routes::kNone ? std::nullopt : std::optional(changes.targets[number]);
  };
  for (const auto& route : changes.routes) {
    const auto at = configuration_.saved_routes.try_emplace({route.prefix, route.metric}, target(route.before)).first;
    if (at->second == target(route.after)) configuration_.saved_routes.erase(at);
  }
}

template <class Family>
std::vector<std::string> ForwardingFunction<Family>::unsaved_routes(std::size_t most) const {
  const auto text = [](const auto& key, const auto& target) {
    std::ostringstream line;
    control::write_routes<typename Family::AddressFamily>(line, {{target}, {{key.first, key.second, 0}}});
    std::string words = line.str();
    words.pop_back();
    return words;
  };
  std::vector<Prefix> prefixes;
  prefixes.reserve(configuration_.saved_routes.size());
  for (const auto& [key, target] : configuration_.saved_routes) prefixes.push_back(key.first);
  const RoutesOfPrefixes<Family> own(configuration_.routes.routes, std::move(prefixes));
  std::vector<std::string> lines;
  for (const auto& [key, target] : configuration_.saved_routes) {
    if (lines.size() >= most) break;
    if (target) lines.push_back("- " + text(key, *target));
    const auto* const route = own.find(key.first, key.second);
    if (route != nullptr) lines.push_back("+ " + text(key, configuration_.routes.targets[route->target]));
  }
  return lines;
}

template <class Family>
std::vector<std::string> ForwardingFunction<Family>::unsaved_neighbours(std::size_t most) const {
  const auto text = [](const auto& key, MacAddress mac) {
    return fmt::format("{} dev {} lladdr {}", to_string(key.second), key.first, to_string(mac));
  };
  std::vector<std::string> lines;
  for (const auto& [key, mac] : configuration_.saved_neighbours) {
    if (lines.size() >= most) break;
    if (mac) lines.push_back("- " + text(key, *mac));
    const auto known = find_neighbour(configuration_.neighbours, key.second, key.first);
    if (known != configuration_.neighbours.end()) lines.push_back("+ " + text(key, known->mac));
  }
  return lines;
}

template <class Family>
std::vector<ConfigTable> ForwardingFunction<Family>::tables() const {
  std::vector<ConfigTable> tables;
  tables.push_back({.key = "routes",
                    .lines =
                        [this] {
                          std::ostringstream text;
                          control::write_routes<typename Family::AddressFamily>(text, configuration_.routes);
                          return text.str();
                        },
                    .unsaved = [this](std::size_t most) { return unsaved_routes(most); }});
  if (configuration_.follows()) return tables;
  tables.push_back({.key = "neighbours",
                    .lines =
                        [this] {
                          std::ostringstream text;
                          control::write_neighbours<typename Family::AddressFamily>(text, configuration_.neighbours);
                          return text.str();
                        },
                    .unsaved = [this](std::size_t most) { return unsaved_neighbours(most); }});
  return tables;
}

template <class Family>
void ForwardingFunction<Family>::tables_are_saved() {
  configuration_.saved_routes.clear();
  configuration_.saved_neighbours.clear();
}

}  // namespace penumbra::forwarding
