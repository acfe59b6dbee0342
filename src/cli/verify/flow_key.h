// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "penumbra/ip.h"

namespace penumbra::cli::verify {

/// What tells flows apart (docs/functions/ipv4.md and ipv6.md, "Several next hops").
struct FlowKey {
  Ipv6Address source, destination;  ///< of IPv4 the low 32 bits
  std::uint32_t label = 0;          ///< of IPv6
  std::uint32_t ports = 0;          ///< 0 where they do not count
  std::uint8_t protocol = 0;
  bool is_ipv6 = false;
  bool operator==(const FlowKey&) const = default;

  /// All packets that have this in common take one next hop: those with a label whatever they carry.
  FlowKey of_way() const {
    FlowKey key = *this;
    if (label != 0) key.ports = key.protocol = 0;
    return key;
  }
};

/// Whether a protocol's header begins with ports that tell flows apart: TCP, UDP, SCTP and UDP-Lite.
inline bool has_ports(std::uint8_t protocol) {
  return protocol == 6 || protocol == 17 || protocol == 132 || protocol == 136;
}

}  // namespace penumbra::cli::verify
