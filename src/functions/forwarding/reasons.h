// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::forwarding {

/// Holds the reasons of a function. Packets without a route are punted if the host has the same routes as the table.
/// The host then notifies the sender (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
struct Reasons {
  std::vector<Reason> alone, beside_host;
};

/// Returns `before`, the reasons of packets that are decided before the look-up, followed by the reasons of looked-up
/// packets. The order of looked-up packets is: local, no_route, blackhole, unreachable, unreachable_by_host, via_host,
/// `hops_used_up` (its name), unknown_neighbour, `too_long`. `limit` is the name of the header's hop field for users.
Reasons with_looked_up(std::vector<Reason> before, const std::string& hops_used_up, const std::string& limit,
                       const std::string& too_long);

}  // namespace penumbra::forwarding
