// SPDX-License-Identifier: Apache-2.0
//
// Reads the configuration of the switch.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "penumbra/config_node.h"
#include "penumbra/function.h"
#include "tables/l2/stations.h"

namespace penumbra::l2 {

/// VLAN identifiers are 1 to 4094 (IEEE 802.1Q, table 9-2).
inline constexpr std::uint16_t kMostVlan = 4094;
using Vlans = std::bitset<kMostVlan + 1>;

/// Lists the kinds of frames that a port floods. Storm control has a limit for each kind.
enum class Storm : std::uint8_t { broadcast, multicast, unknown_unicast };
inline constexpr std::size_t kStorms = 3;

struct PortConfiguration {
  std::uint16_t native = 1;  ///< VLAN of untagged frames; 0: the port accepts no untagged frames
  Vlans vlans;               ///< all VLANs of the port, including the native VLAN
  bool trunk = false;
  std::array<std::uint32_t, kStorms> storm_limits{};  ///< packets per second by Storm; 0: no limit

  bool operator==(const PortConfiguration&) const = default;
};

struct Configuration {
  std::vector<PortConfiguration> ports;              ///< by port index
  std::uint32_t ageing = 300;                        ///< ageing time, seconds without a frame; 0: stations never age
  std::size_t max_stations = 65'536;                 ///< limit of learned and static stations together
  std::map<Station, std::uint16_t> static_stations;  ///< ports of the static stations
};

/// Reads the configuration. Throws InputError.
Configuration read_configuration(const ConfigNode& config, std::span<const PortInfo> ports);

/// Returns warnings about valid but unusual settings, with the place of the function.
std::vector<std::string> warnings_of(const Configuration& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports);

/// Returns one line for each difference, for example "port lan: trunk of VLANs 10, 20-29, native 10".
std::vector<std::string> differences(const Configuration& before, const Configuration& after,
                                     std::span<const PortInfo> ports);

/// Returns a list like "10, 20-29".
std::string to_string(const Vlans& vlans);

}  // namespace penumbra::l2
