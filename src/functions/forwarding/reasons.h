// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "penumbra/function.h"

namespace penumbra::forwarding {

/// A function's reasons. Where the host has the same routes as the table it is given what has none, and tells the
/// sender (RFC 1812, 5.2.7.1; RFC 4443, 3.1).
struct Reasons {
  std::vector<Reason> alone, beside_host;
};

/// A family's: those of packets that are judged before their destination is looked up, and behind them those of what
/// was found, in this order: local, no_route, blackhole, unreachable, unreachable_by_host, via_host, `hops_used_up`
/// (its name), unknown_neighbour, `too_long`. `limit` is the header's field of hops, for people.
Reasons with_looked_up(std::vector<Reason> before, const std::string& hops_used_up, const std::string& limit,
                       const std::string& too_long);

}  // namespace penumbra::forwarding
