// SPDX-License-Identifier: Apache-2.0
//
// The function's part of the configuration.
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

/// What a port floods, by what it is flooded for: storm control limits each.
enum class Storm : std::uint8_t { broadcast, multicast, unknown_unicast };
inline constexpr std::size_t kStorms = 3;

struct PortConfiguration {
  std::uint16_t native = 1;  ///< the VLAN of untagged frames; 0: the port takes none
  Vlans vlans;               ///< all that it is a member of, the native one too
  bool trunk = false;
  std::array<std::uint32_t, kStorms> storm_limits{};  ///< packets a second by Storm; 0: none

  bool operator==(const PortConfiguration&) const = default;
};

struct Configuration {
  std::vector<PortConfiguration> ports;              ///< by index
  std::uint32_t ageing = 300;                        ///< seconds without a frame; 0: stations stay
  std::size_t max_stations = 65'536;                 ///< static ones too
  std::map<Station, std::uint16_t> static_stations;  ///< with their ports
};

/// Reads it. Throws InputError at what is wrong.
Configuration read_configuration(const ConfigNode& config, std::span<const PortInfo> ports);

/// What can be right but seldom is, with the place of the function.
std::vector<std::string> warnings_of(const Configuration& configuration, const ConfigNode& config,
                                     std::span<const PortInfo> ports);

/// "port lan: trunk of VLANs 10, 20-29, native 10", one line each for what differs.
std::vector<std::string> differences(const Configuration& before, const Configuration& after,
                                     std::span<const PortInfo> ports);

/// "10, 20-29".
std::string to_string(const Vlans& vlans);

}  // namespace penumbra::l2
