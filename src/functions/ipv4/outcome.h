// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::ipv4 {

/// Lists the possible results for a packet. All except `forward` are the function's reasons, in the order of their
/// indices.
enum class Outcome : std::uint8_t {
  runt,
  wrong_mac,
  arp,
  ipv6,
  ipv6_neighbour_discovery,
  ipv6_link,
  other_ethertype,
  truncated,
  bad_version,
  bad_header_length,
  bad_total_length,
  bad_checksum,
  broadcast,
  multicast,
  martian_source,
  martian_destination,
  link_broadcast,
  options,
  link_local,
  local,
  no_route,
  blackhole,
  unreachable,
  unreachable_by_host,
  via_host,
  ttl_expired,
  unknown_neighbour,
  fragmentation_needed,
  forward,
};

/// Returns the name, kind and help of every outcome except `forward`, by index; see forwarding::Reasons.
const std::vector<Reason>& outcome_reasons(bool host_has_routes = false);

}  // namespace penumbra::ipv4
