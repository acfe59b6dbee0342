// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace penumbra::ids {

/// A packet came from the wire, out of a kind of tunnel, or from the reassembly of fragments.
enum class PacketSource : std::uint8_t { wire, ipv4, ipv6, gre, teredo, vxlan, geneve, defrag };

/// The names in Suricata's events, in the order of PacketSource.
inline constexpr std::array<std::string_view, 8> kPacketSources{
    "wire/pcap",     "ipv4 tunnel",         "ipv6 tunnel",          "gre tunnel",
    "teredo tunnel", "vxlan encapsulation", "geneve encapsulation", "defrag"};

constexpr std::string_view to_string(PacketSource source) {
  return kPacketSources[static_cast<std::size_t>(source)];
}

}  // namespace penumbra::ids
