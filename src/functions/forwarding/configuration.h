// SPDX-License-Identifier: Apache-2.0
//
// The function's part of the configuration, with the files that it names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "penumbra/config_node.h"
#include "penumbra/function.h"
#include "penumbra/route_feed.h"

namespace penumbra::forwarding {

template <class Family>
struct Configuration {
  control::RouteListOf<typename Family::AddressFamily> routes;
  std::vector<control::NeighbourOf<typename Family::AddressFamily>> neighbours;
  std::vector<std::string> follow;  ///< sources of routes by name; none: there are only these
  std::string table;                ///< of the host's, that is followed
  /// What the file has of the routes and neighbours that commands have changed; nothing if it has no such entry.
  std::map<std::pair<typename Family::Prefix, std::uint32_t>,
           std::optional<control::RouteTargetOf<typename Family::AddressFamily>>>
      saved_routes;
  std::map<std::pair<std::string, typename Family::Address>, std::optional<MacAddress>> saved_neighbours;
  bool forwards_link_local = false;

  bool follows() const { return !follow.empty(); }
  /// Whether the host has the same routes: it looks up in the table that is followed, and in no other.
  bool host_has_routes() const { return table == "main" && std::ranges::find(follow, "kernel") != follow.end(); }
};

/// The index in Family::kLookups of the structure that the configuration wants. Throws InputError.
template <class Family>
std::size_t read_lookup(const ConfigNode& config);

/// Reads it, but for `lookup`. Throws InputError at what is wrong.
template <class Family>
Configuration<Family> read_configuration(const ConfigNode& config, const FunctionContext& context);

/// What can be right but seldom is, with the places of `routes` and `neighbours`; a few lines at most.
template <class Family>
std::vector<std::string> warnings_of(const Configuration<Family>& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports);

/// What the configuration asks of a feed, its own routes included.
template <class Family>
FeedRequest to_request(const Configuration<Family>& configuration, std::span<const PortInfo> ports);

/// "routes: 3 added, 1 removed, 2 changed, 900,000 as before", one line each for what differs.
template <class Family>
std::vector<std::string> differences(const Configuration<Family>& before, const Configuration<Family>& after);

}  // namespace penumbra::forwarding
