// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/families.h"
#include "functions/forwarding/table_changes.h"
#include "penumbra/errors.h"

namespace penumbra::forwarding {

template <ForwardingFamily Family>
std::vector<NeighbourChange<Family>> added_neighbours(const Tables<Family>& tables, const CommandEntries& entries,
                                                      bool may_exist) {
  std::vector<NeighbourChange<Family>> changes;
  for (const auto& [neighbour, line] : control::parse_neighbour_entries<typename Family::AddressFamily>(
           entries.text, entries.name, names_of(tables.ports), false)) {
    const auto& [address, port, mac] = neighbour;
    const auto known = find_neighbour(tables.configuration.neighbours, address, port);
    if (known == tables.configuration.neighbours.end()) {
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

template <ForwardingFamily Family>
std::vector<NeighbourChange<Family>> removed_neighbours(const Tables<Family>& tables, const CommandEntries& entries) {
  std::vector<NeighbourChange<Family>> changes;
  for (const auto& [neighbour, line] : control::parse_neighbour_entries<typename Family::AddressFamily>(
           entries.text, entries.name, names_of(tables.ports), true)) {
    const auto& [address, port, mac] = neighbour;
    const auto known = find_neighbour(tables.configuration.neighbours, address, port);
    if (known == tables.configuration.neighbours.end() || (mac.value != 0 && mac != known->mac)) {
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

template <ForwardingFamily Family>
void change_neighbours(Tables<Family>& tables, const std::vector<NeighbourChange<Family>>& changes) {
  const auto set = [&tables](const NeighbourChange<Family>& change, const std::optional<MacAddress>& mac) {
    if (mac) {
      tables.fib.set_neighbour({change.address, change.port, *mac});
    } else {
      tables.fib.remove_neighbour(change.address, change.port);
    }
  };
  std::size_t done = 0;
  try {
    for (; done < changes.size(); ++done) set(changes[done], changes[done].after);
  } catch (...) {
    while (done-- > 0) set(changes[done], changes[done].before);
    tables.fib.commit();
    throw;
  }
  tables.fib.commit();
  change_list<Family>(tables.configuration.neighbours, changes);
  for (const auto& change : changes) {
    const auto at =
        tables.configuration.saved_neighbours.try_emplace({change.port, change.address}, change.before).first;
    if (at->second == change.after) tables.configuration.saved_neighbours.erase(at);
  }
}

#define INSTANTIATE(Family)                                                                                            \
  template std::vector<NeighbourChange<Family>> added_neighbours<Family>(const Tables<Family>&, const CommandEntries&, \
                                                                         bool);                                        \
  template std::vector<NeighbourChange<Family>> removed_neighbours<Family>(const Tables<Family>&,                      \
                                                                           const CommandEntries&);                     \
  template void change_neighbours<Family>(Tables<Family>&, const std::vector<NeighbourChange<Family>>&);
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
