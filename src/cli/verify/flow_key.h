// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "penumbra/ip.h"

namespace penumbra::cli::verify {

/// The header fields that identify a flow (docs/functions/ipv4.md and ipv6.md, "Several next hops").
struct FlowKey {
  Ipv6Address source, destination;  ///< an IPv4 address is in the low 32 bits
  std::uint32_t label = 0;          ///< of IPv6
  std::uint32_t ports = 0;          ///< 0 if they do not count; of ESP the SPI
  std::uint8_t protocol = 0;
  bool is_ipv6 = false;
  bool operator==(const FlowKey&) const = default;

  /// Returns the part of the key that decides the next hop. Packets with a flow label take one next hop, whatever they
  /// carry.
  FlowKey of_way() const {
    FlowKey key = *this;
    if (label != 0) key.ports = key.protocol = 0;
    return key;
  }
};

/// Returns true if a protocol's header begins with ports that identify flows: TCP, UDP, SCTP and UDP-Lite.
inline bool has_ports(std::uint8_t protocol) {
  return protocol == 6 || protocol == 17 || protocol == 132 || protocol == 136;
}

}  // namespace penumbra::cli::verify
