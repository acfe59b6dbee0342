// SPDX-License-Identifier: Apache-2.0
//
// Static stations as lines: `MAC dev PORT [vlan N]`, in the words of `bridge fdb`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/l2/configuration.h"
#include "penumbra/command.h"

namespace penumbra::l2 {

using StaticStations = std::map<Station, std::uint16_t>;

struct StationEntry {
  MacAddress mac;
  std::uint16_t port = 0;
  std::optional<std::uint16_t> vlan;  ///< if it is left out, the VLAN of the port's untagged frames
  int line = 0;
};
/// Reads lines. Words that `bridge fdb` prints besides are read over. Throws InputError.
std::vector<StationEntry> parse_stations(std::string_view text, const std::string& name,
                                         std::span<const PortInfo> ports);
/// The VLAN of the entry; 0: its port takes no untagged frames, and the entry names none.
std::uint16_t vlan_of(const StationEntry& entry, const Configuration& configuration);
/// What parse_stations() reads back.
std::string text_of(Station station, std::uint16_t port, std::span<const PortInfo> ports);

/// What the function registers.
std::vector<FunctionCommand> commands();

/// The static stations after a command. Throws InputError at a line that is wrong.
struct EditedStations {
  StaticStations stations;
  Change::Counts counts;
};
EditedStations edit(const Configuration& configuration, std::string_view action, const CommandEntries& entries,
                    std::span<const PortInfo> ports);

}  // namespace penumbra::l2
