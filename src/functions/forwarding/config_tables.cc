// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/commands.h"
#include "functions/forwarding/families.h"
#include "functions/forwarding/own_routes.h"

namespace penumbra::forwarding {
namespace {

template <ForwardingFamily Family>
std::vector<std::string> unsaved_routes(const Configuration<Family>& configuration, std::size_t most) {
  const auto text = [](const auto& key, const auto& target) {
    std::ostringstream line;
    control::write_routes<typename Family::AddressFamily>(line, {{target}, {{key.first, key.second, 0}}});
    std::string words = line.str();
    words.pop_back();
    return words;
  };
  std::vector<typename Family::Prefix> prefixes;
  prefixes.reserve(configuration.saved_routes.size());
  for (const auto& [key, target] : configuration.saved_routes) prefixes.push_back(key.first);
  const RoutesOfPrefixes<Family> own(configuration.routes.routes, std::move(prefixes));
  std::vector<std::string> lines;
  for (const auto& [key, target] : configuration.saved_routes) {
    if (lines.size() >= most) break;
    if (target) lines.push_back("- " + text(key, *target));
    const auto* const route = own.find(key.first, key.second);
    if (route != nullptr) lines.push_back("+ " + text(key, configuration.routes.targets[route->target]));
  }
  return lines;
}

template <ForwardingFamily Family>
std::vector<std::string> unsaved_neighbours(const Configuration<Family>& configuration, std::size_t most) {
  const auto text = [](const auto& key, MacAddress mac) {
    return fmt::format("{} dev {} lladdr {}", to_string(key.second), key.first, to_string(mac));
  };
  std::vector<std::string> lines;
  for (const auto& [key, mac] : configuration.saved_neighbours) {
    if (lines.size() >= most) break;
    if (mac) lines.push_back("- " + text(key, *mac));
    const auto known = find_neighbour(configuration.neighbours, key.second, key.first);
    if (known != configuration.neighbours.end()) lines.push_back("+ " + text(key, known->mac));
  }
  return lines;
}

}  // namespace

template <ForwardingFamily Family>
std::vector<ConfigTable> config_tables(const Configuration<Family>& configuration) {
  std::vector<ConfigTable> tables;
  tables.push_back({.key = "routes",
                    .lines =
                        [&configuration] {
                          std::ostringstream text;
                          control::write_routes<typename Family::AddressFamily>(text, configuration.routes);
                          return text.str();
                        },
                    .unsaved = [&configuration](std::size_t most) { return unsaved_routes(configuration, most); }});
  if (configuration.follows()) return tables;
  tables.push_back({.key = "neighbours",
                    .lines =
                        [&configuration] {
                          std::ostringstream text;
                          control::write_neighbours<typename Family::AddressFamily>(text, configuration.neighbours);
                          return text.str();
                        },
                    .unsaved = [&configuration](std::size_t most) { return unsaved_neighbours(configuration, most); }});
  return tables;
}

#define INSTANTIATE(Family) template std::vector<ConfigTable> config_tables<Family>(const Configuration<Family>&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
