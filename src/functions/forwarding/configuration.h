// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of a forwarding function, including the files that the configuration names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/family.h"
#include "penumbra/config_node.h"
#include "penumbra/function.h"
#include "penumbra/route_feed.h"

namespace penumbra::forwarding {

template <ForwardingFamily Family>
struct Configuration {
  control::RouteListOf<typename Family::AddressFamily> routes;
  std::vector<control::NeighbourOf<typename Family::AddressFamily>> neighbours;
  std::vector<std::string> follow;  ///< names of the followed route sources; empty if there are only these routes
  std::string table;                ///< name of the host's routing table to follow
  /// Holds the saved state of each route and neighbour that commands have changed. std::nullopt means that the saved
  /// configuration does not have the entry.
  std::map<std::pair<typename Family::Prefix, std::uint32_t>,
           std::optional<control::RouteTargetOf<typename Family::AddressFamily>>>
      saved_routes;
  std::map<std::pair<std::string, typename Family::Address>, std::optional<MacAddress>> saved_neighbours;
  bool forwards_link_local = false;

  bool follows() const { return !follow.empty(); }
  /// True if the host has the same routes. The host looks packets up in its table `main` only.
  bool host_has_routes() const { return table == "main" && std::ranges::find(follow, "kernel") != follow.end(); }
};

/// Returns the index in Family::kLookups of the configured look-up structure. Throws InputError.
template <ForwardingFamily Family>
std::size_t read_lookup(const ConfigNode& config);

/// Reads all keys except `lookup`. Throws InputError.
template <ForwardingFamily Family>
Configuration<Family> read_configuration(const ConfigNode& config, const FunctionContext& context);

/// Returns warnings about valid but unusual entries of `routes` and `neighbours`, with their places. Returns a few
/// lines at most.
template <ForwardingFamily Family>
std::vector<std::string> warnings_of(const Configuration<Family>& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports);

/// Returns the request for a route feed, including the configuration's own routes. `index_of` returns the index of the
/// port that a next hop names.
template <ForwardingFamily Family>
FeedRequest to_request(const Configuration<Family>& configuration,
                       const std::function<std::uint16_t(const std::string&)>& index_of);

/// Returns one line for each kind of entry that differs, for example "routes: 3 added, 1 removed, 2 changed, 900,000 as
/// before".
template <ForwardingFamily Family>
std::vector<std::string> differences(const Configuration<Family>& before, const Configuration<Family>& after);

}  // namespace penumbra::forwarding
