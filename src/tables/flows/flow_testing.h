// SPDX-License-Identifier: Apache-2.0
//
// Flows for tests.
#pragma once

#include <cstdint>
#include <tuple>

#include "base/random.h"
#include "tables/flows/flow_key.h"

namespace penumbra {

/// An order of flow keys, for maps.
struct FlowKeyLess {
  bool operator()(const flow_key& a, const flow_key& b) const {
    return std::tie(a.source[0], a.source[1], a.destination[0], a.destination[1], a.tuple) <
           std::tie(b.source[0], b.source[1], b.destination[0], b.destination[1], b.tuple);
  }
};

/// Returns a random flow of either family with random ports.
inline flow_key any_flow(Random& random) {
  Flow flow{.is_ipv6 = random.below(2) == 1,
            .source = {0, random.next()},
            .destination = {0, random.next()},
            .source_port = static_cast<std::uint16_t>(random.next()),
            .destination_port = static_cast<std::uint16_t>(random.next()),
            .protocol = static_cast<std::uint8_t>(random.below(2) == 0 ? 6 : 17),
            .vlan = static_cast<std::uint16_t>(random.below(3))};
  if (flow.is_ipv6) {
    flow.source.high = flow.destination.high = 0x20010DB800000000 + random.below(1000);
  } else {
    flow.source.low >>= 32;
    flow.destination.low >>= 32;
  }
  return to_key(flow);
}

}  // namespace penumbra
