// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "control/config_lines.h"
#include "functions/forwarding/families.h"
#include "penumbra/errors.h"

namespace penumbra::forwarding {
namespace {

/// Reads `follow` and `table`.
template <ForwardingFamily Family>
void read_sources(const ConfigNode& config, RouteFeed* feed, Configuration<Family>& configuration) {
  const ConfigNode follow = config.get("follow"), table = config.get("table");
  if (!follow.present()) {
    if (!table.present()) return;
    throw table.error("'table' says which of the host's tables is followed: it needs 'follow'");
  }
  if (feed == nullptr) throw follow.error("there is nothing to follow here");
  auto& names = configuration.follow;
  for (const auto& source : follow.list()) {
    names.push_back(source.checked_text([feed](const auto& name) { feed->check_source(name); }));
    if (std::ranges::count(names, names.back()) > 1) throw source.error("it is there already");
  }
  if (names.empty()) throw follow.error("expected at least one source, for instance [kernel]");
  configuration.table =
      table.present() ? table.checked_text([feed](const auto& text) { feed->check_table(text); }) : std::string("main");
}

struct Counts {
  std::size_t added = 0, removed = 0, changed = 0, kept = 0;
};

/// Compares two lists of (key, value) that are sorted by key.
template <class Entry>
Counts compare(const std::vector<Entry>& before, const std::vector<Entry>& after) {
  Counts counts;
  auto old_entry = before.begin(), new_entry = after.begin();
  while (old_entry != before.end() || new_entry != after.end()) {
    if (new_entry == after.end() || (old_entry != before.end() && old_entry->first < new_entry->first)) {
      ++counts.removed;
      ++old_entry;
    } else if (old_entry == before.end() || new_entry->first < old_entry->first) {
      ++counts.added;
      ++new_entry;
    } else {
      ++(old_entry->second == new_entry->second ? counts.kept : counts.changed);
      ++old_entry;
      ++new_entry;
    }
  }
  return counts;
}

/// Returns the routes sorted by prefix and metric, with the index of the target in `sorted`. Equal targets have equal
/// indices, which makes comparing cheap.
template <class Family>
auto numbered(const control::RouteListOf<Family>& list, const std::vector<control::RouteTargetOf<Family>>& sorted) {
  std::vector<std::pair<std::pair<typename Family::Prefix, std::uint32_t>, std::size_t>> entries;
  std::vector<std::size_t> numbers;
  numbers.reserve(list.targets.size());
  for (const auto& target : list.targets) {
    numbers.push_back(static_cast<std::size_t>(std::ranges::lower_bound(sorted, target) - sorted.begin()));
  }
  entries.reserve(list.routes.size());
  for (const auto& route : list.routes) entries.push_back({route.key(), numbers[route.target]});
  std::ranges::sort(entries);
  return entries;
}

template <class Family>
Counts compare_routes(const control::RouteListOf<Family>& before, const control::RouteListOf<Family>& after) {
  std::vector<control::RouteTargetOf<Family>> targets = before.targets;
  targets.insert(targets.end(), after.targets.begin(), after.targets.end());
  std::ranges::sort(targets);
  return compare(numbered(before, targets), numbered(after, targets));
}

template <class Family>
auto keyed(const std::vector<control::NeighbourOf<Family>>& neighbours) {
  std::vector<std::pair<std::pair<std::string, typename Family::Address>, MacAddress>> entries;
  entries.reserve(neighbours.size());
  for (const auto& neighbour : neighbours) entries.push_back({{neighbour.port, neighbour.address}, neighbour.mac});
  std::ranges::sort(entries);
  return entries;
}

/// Returns the name of the port that has the address, or "" if no port has it.
template <class AddressFamily>
std::string own_port(typename AddressFamily::Address address, std::span<const PortInfo> ports) {
  for (const PortInfo& port : ports) {
    for (const auto& own : port.template addresses_of<AddressFamily>()) {
      if (own.address == address) return port.name;
    }
  }
  return "";
}

/// True if no packet to this prefix reaches the look-up, because its destination address already decides.
bool is_never_looked_up(Ipv4Prefix prefix) {
  return prefix.length >= 8 ? !prefix.address.is_unicast() : prefix.length >= 4 && prefix.address.value >> 28 >= 0xE;
}

void describe(const char* what, const Counts& counts, std::vector<std::string>& lines) {
  if (counts.added + counts.removed + counts.changed == 0) return;
  lines.push_back(fmt::format("{}: {} added, {} removed, {} changed, {} as before", what, counts.added, counts.removed,
                              counts.changed, counts.kept));
}

}  // namespace

template <ForwardingFamily Family>
std::size_t read_lookup(const ConfigNode& config) {
  const auto& known = Family::kLookups;
  const ConfigNode node = config.is_map() ? config.get("lookup") : config;
  if (known.size() == 1 || !config.is_map() || !node.present()) return 0;
  const std::string name = node.text();
  const auto found = std::ranges::find(known, name);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  const std::vector<std::string> names(known.begin(), known.end());
  throw node.error("no look-up is called " + quote(name) + "; " + did_you_mean_or_list(name, names));
}

template <ForwardingFamily Family>
Configuration<Family> read_configuration(const ConfigNode& config, const FunctionContext& context) {
  std::vector<std::string> keys{"routes", "neighbours", "follow", "table", "engine"};
  if (Family::kLookups.size() > 1) keys.emplace_back("lookup");
  if (Family::kLooksUpLinkLocal) keys.emplace_back("link_local");
  config.require_map(keys);
  Configuration<Family> configuration;
  read_sources(config, context.feed, configuration);
  configuration.forwards_link_local =
      Family::kLooksUpLinkLocal && config.get("link_local").one_of(std::array{"drop", "forward"}) == "forward";
  std::vector<std::string> ports;
  for (const PortInfo& port : context.ports) ports.push_back(port.name);
  if (const ConfigNode neighbours = config.get("neighbours"); neighbours.present()) {
    if (configuration.follows()) {
      throw neighbours.error(
          "with 'follow' the neighbours are the host's: add them there (ip neigh), or leave this out");
    }
    configuration.neighbours = control::parse_config_lines(neighbours, [&ports](const auto& text, const auto& name) {
      return control::parse_neighbours<typename Family::AddressFamily>(text, name, ports);
    });
  }
  if (const ConfigNode routes = config.get("routes"); routes.present()) {
    configuration.routes = control::parse_config_lines(routes, [&ports](const auto& text, const auto& name) {
      return control::parse_routes<typename Family::AddressFamily>(text, name, ports);
    });
  }
  return configuration;
}

template <ForwardingFamily Family>
std::vector<std::string> warnings_of(const Configuration<Family>& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports) {
  using AddressFamily = typename Family::AddressFamily;
  constexpr std::size_t kMost = 8;
  std::vector<std::string> warnings;
  const auto add = [&](const char* key, const std::string& what) {
    if (warnings.size() >= kMost) return;
    const ConfigNode table = config.get(key);
    const std::string place = control::has_own_lines(table) ? "" : table.path().string() + ": ";
    warnings.emplace_back(table.error(place + what).what());
  };
  for (const auto& target : configuration.routes.targets) {
    for (const auto& hop : target.next_hops) {
      if (!hop.gateway) continue;
      const std::string port = own_port<AddressFamily>(*hop.gateway, ports);
      if (port.empty()) continue;
      add("routes", fmt::format("the gateway {} is the router's own address, on port '{}', so packets to it go nowhere",
                                to_string(*hop.gateway), port));
    }
  }
  for (const auto& route : configuration.routes.routes) {
    bool unused = !Family::is_looked_up(route.prefix);
    if constexpr (std::is_same_v<AddressFamily, Ipv4>) unused |= is_never_looked_up(route.prefix);
    if (unused)
      add("routes", fmt::format("no packet takes the route to {}, which is not unicast", to_string(route.prefix)));
  }
  for (const auto& neighbour : configuration.neighbours) {
    const std::string port = own_port<AddressFamily>(neighbour.address, ports);
    if (port.empty()) continue;
    add("neighbours", fmt::format("{} is the router's own address, on port '{}', and no neighbour's",
                                  to_string(neighbour.address), port));
  }
  return warnings;
}

template <ForwardingFamily Family>
FeedRequest to_request(const Configuration<Family>& configuration,
                       const std::function<std::uint16_t(const std::string&)>& index_of) {
  FeedRequest request{.targets = {}, .routes = {}, .follow = configuration.follow, .table = configuration.table};
  for (const auto& target : configuration.routes.targets) {
    FeedTarget& leads = request.targets.emplace_back();
    if (target.kind == control::RouteKind::blackhole) leads.kind = FeedTarget::Kind::blackhole;
    if (target.kind == control::RouteKind::unreachable) leads.kind = FeedTarget::Kind::unreachable;
    for (const auto& hop : target.next_hops) {
      FeedHop& way = leads.hops.emplace_back();
      way.port = index_of(hop.port);
      if (hop.gateway) way.gateway = *hop.gateway;
      if (hop.inet6_gateway) way.gateway = *hop.inet6_gateway;
      way.weight = hop.weight;
    }
  }
  auto& routes = request.routes_of<typename Family::AddressFamily>();
  for (const auto& route : configuration.routes.routes) {
    routes.push_back({route.prefix, route.metric, route.target});
  }
  return request;
}

template <ForwardingFamily Family>
std::vector<std::string> differences(const Configuration<Family>& before, const Configuration<Family>& after) {
  std::vector<std::string> lines;
  describe("routes", compare_routes(before.routes, after.routes), lines);
  describe("neighbours", compare(keyed(before.neighbours), keyed(after.neighbours)), lines);
  if (before.forwards_link_local != after.forwards_link_local) {
    lines.emplace_back(after.forwards_link_local ? "link_local: forward, was drop" : "link_local: drop, was forward");
  }
  return lines;
}

#define INSTANTIATE(Family)                                                                              \
  template std::size_t read_lookup<Family>(const ConfigNode&);                                           \
  template Configuration<Family> read_configuration<Family>(const ConfigNode&, const FunctionContext&);  \
  template std::vector<std::string> warnings_of<Family>(const Configuration<Family>&, const ConfigNode&, \
                                                        std::span<const PortInfo>);                      \
  template FeedRequest to_request<Family>(const Configuration<Family>&,                                  \
                                          const std::function<std::uint16_t(const std::string&)>&);      \
  template std::vector<std::string> differences<Family>(const Configuration<Family>&, const Configuration<Family>&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
