// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/random.h"
#include "tables/flows/flow_key.h"

namespace penumbra::bench {

/// Returns distinct flows for distinct numbers below 2^48. Every fourth flow is IPv6.
inline flow_key numbered_flow(std::uint64_t number) {
  const std::uint64_t mixed = Random::mixed(number);
  Flow flow{.is_ipv6 = number % 4 == 0,
            .source = {0, 0x0A000000 | (number >> 24 & 0xFFFFFF)},
            .destination = {0, mixed >> 32},
            .source_port = static_cast<std::uint16_t>(number),
            .destination_port = static_cast<std::uint16_t>(number >> 16 & 0xFF),
            .protocol = static_cast<std::uint8_t>(mixed % 3 == 0 ? 17 : 6),
            .vlan = 0};
  if (flow.is_ipv6) flow.source.high = flow.destination.high = 0x20010DB800000000 | (mixed & 0xFFFF);
  return to_key(flow);
}

}  // namespace penumbra::bench
