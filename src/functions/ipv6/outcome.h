// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::ipv6 {

/// Lists the possible results for a packet. All except `forward` are the function's reasons, in the order of their
/// indices.
enum class Outcome : std::uint8_t {
  runt,
  wrong_mac,
  arp,
  ipv4,
  other_ethertype,
  truncated,
  bad_version,
  bad_payload_length,
  martian_source,
  martian_destination,
  neighbour_discovery,
  multicast,
  link_local,
  link_group,
  local,
  no_route,
  blackhole,
  unreachable,
  unreachable_by_host,
  via_host,
  hop_limit_exceeded,
  unknown_neighbour,
  packet_too_big,
  forward,
};

/// Returns the name, kind and help of every outcome except `forward`, by index; see forwarding::Reasons.
const std::vector<Reason>& outcome_reasons(bool host_has_routes = false);

}  // namespace penumbra::ipv6
