// SPDX-License-Identifier: Apache-2.0
//
// The meaning of the words of a flow's key (flows.shader.h).
#pragma once

#include <cstdint>

#include "penumbra/ip.h"
#include "penumbra/packet.h"
#include "tables/flows/flows.shader.h"

namespace penumbra {

/// A flow: the header fields that its packets have in common.
struct Flow {
  bool is_ipv6 = false;
  Ipv6Address source;                  ///< an IPv4 address is in the lower 32 bits
  Ipv6Address destination;             ///< an IPv4 address is in the lower 32 bits
  std::uint16_t source_port = 0;       ///< 0 in fragments and if the protocol has no ports
  std::uint16_t destination_port = 0;  ///< 0 in fragments and if the protocol has no ports; type * 256 + code for ICMP
  std::uint8_t protocol = 0;
  std::uint16_t vlan = 0;  ///< of the outermost tag; 0 without a tag or for a priority tag

  bool operator==(const Flow&) const = default;
};

inline flow_key to_key(const Flow& flow) {
  constexpr std::uint64_t kIpv4 = 1, kIpv6 = 2;
  return {.source = {flow.source.high, flow.source.low},
          .destination = {flow.destination.high, flow.destination.low},
          .tuple = std::uint64_t{flow.source_port} << 48 | std::uint64_t{flow.destination_port} << 32 |
                   std::uint64_t{flow.protocol} << 24 | (flow.is_ipv6 ? kIpv6 : kIpv4) << 22 |
                   std::uint64_t{flow.vlan & 0xFFFU} << 8};
}

inline Flow to_flow(const flow_key& key) {
  return {.is_ipv6 = (key.tuple >> 22 & 3) == 2,
          .source = {key.source[0], key.source[1]},
          .destination = {key.destination[0], key.destination[1]},
          .source_port = static_cast<std::uint16_t>(key.tuple >> 48),
          .destination_port = static_cast<std::uint16_t>(key.tuple >> 32),
          .protocol = static_cast<std::uint8_t>(key.tuple >> 24),
          .vlan = static_cast<std::uint16_t>(key.tuple >> 8 & 0xFFF)};
}

}  // namespace penumbra
