// SPDX-License-Identifier: Apache-2.0
//
// The commands `route` and `neighbour` change the routes and neighbours of the configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penumbra/command.h"

namespace penumbra::forwarding {

/// Returns the commands that a forwarding function registers (FunctionInfo::commands).
template <class Family>
std::vector<FunctionCommand> commands();

/// Returns `text` with the lines of the other address family replaced by empty lines. A line with an IPv6 address
/// belongs to IPv6, any other line to IPv4. A gateway after `via inet6` is ignored. A line that begins with `nexthop`
/// belongs to the family of the line before it.
std::string lines_of_family(std::string_view text, bool ipv6);

}  // namespace penumbra::forwarding
