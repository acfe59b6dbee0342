// SPDX-License-Identifier: Apache-2.0
//
// Checks the entries of the commands `route` and `neighbour` against the tables, and changes the tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "functions/forwarding/own_routes.h"
#include "functions/forwarding/tables.h"
#include "penumbra/command.h"

namespace penumbra::forwarding {

/// Returns the names of the ports that `dev` may name.
inline std::vector<std::string> names_of(std::span<const PortInfo> ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const PortInfo& port : ports) {
    if (!port.removed) names.push_back(port.name);
  }
  return names;
}

// The following functions change nothing. They throw InputError with the line of a wrong entry. With `may_exist`, an
// entry may replace a known entry.

template <ForwardingFamily Family>
RouteChanges<Family> added_routes(const Tables<Family>& tables, const CommandEntries& entries, bool may_exist);
template <ForwardingFamily Family>
RouteChanges<Family> removed_routes(const Tables<Family>& tables, const CommandEntries& entries);
template <ForwardingFamily Family>
std::vector<NeighbourChange<Family>> added_neighbours(const Tables<Family>& tables, const CommandEntries& entries,
                                                      bool may_exist);
template <ForwardingFamily Family>
std::vector<NeighbourChange<Family>> removed_neighbours(const Tables<Family>& tables, const CommandEntries& entries);

// The following functions apply all changes or none. They throw std::logic_error at a limit of the tables.

template <ForwardingFamily Family>
void change_routes(Tables<Family>& tables, const RouteChanges<Family>& changes);
template <ForwardingFamily Family>
void change_neighbours(Tables<Family>& tables, const std::vector<NeighbourChange<Family>>& changes);

}  // namespace penumbra::forwarding
