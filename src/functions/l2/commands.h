// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes static stations as lines in the syntax of `bridge fdb`: `MAC dev PORT [vlan N]`.
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
  std::optional<std::uint16_t> vlan;  ///< std::nullopt: the VLAN of the port's untagged frames
  int line = 0;
};
/// Parses lines. Ignores the other words that `bridge fdb` prints. Throws InputError.
std::vector<StationEntry> parse_stations(std::string_view text, const std::string& name,
                                         std::span<const PortInfo> ports);
/// Returns the VLAN of the entry. Returns 0 if the entry names no VLAN and the port accepts no untagged frames.
std::uint16_t vlan_of(const StationEntry& entry, const Configuration& configuration);
/// Returns a line that parse_stations() can read.
std::string text_of(Station station, std::uint16_t port, std::span<const PortInfo> ports);

/// Returns the commands that the function registers.
std::vector<FunctionCommand> commands();

/// Holds the static stations after a command.
struct EditedStations {
  StaticStations stations;
  Change::Counts counts;
};
EditedStations edit(const Configuration& configuration, std::string_view action, const CommandEntries& entries,
                    std::span<const PortInfo> ports);

}  // namespace penumbra::l2
