// SPDX-License-Identifier: Apache-2.0
//
// The commands `route` and `neighbour`: they change the configuration's own routes and neighbours. commands_code.h has
// the definitions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penumbra/command.h"

namespace penumbra::forwarding {

/// What a forwarding function registers (FunctionInfo::commands).
template <class Family>
std::vector<FunctionCommand> commands();

/// The lines of a text that belong to a family, the others empty. A line with an IPv6 address is of IPv6, any other of
/// IPv4; a gateway after `via inet6` does not count. A line that begins with `nexthop` goes on with the line before it.
std::string lines_of_family(std::string_view text, bool ipv6);

}  // namespace penumbra::forwarding
