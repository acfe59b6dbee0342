// SPDX-License-Identifier: Apache-2.0
//
// The commands `route` and `neighbour` change the routes and neighbours of the configuration.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "functions/forwarding/configuration.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/tables.h"
#include "penumbra/command.h"

namespace penumbra::forwarding {

/// Returns the commands that a forwarding function registers (FunctionInfo::commands).
template <ForwardingFamily Family>
std::vector<FunctionCommand> commands();

/// Implements Function::prepare(). `tables` must outlive the change.
template <ForwardingFamily Family>
std::unique_ptr<Change> prepare(Tables<Family>& tables, std::string_view command, std::string_view action,
                                const CommandEntries& entries);

/// Implements Function::tables(). `configuration` must outlive the result.
template <ForwardingFamily Family>
std::vector<ConfigTable> config_tables(const Configuration<Family>& configuration);

/// Returns `text` with the lines of the other address family replaced by empty lines. A line with an IPv6 address
/// belongs to IPv6, any other line to IPv4. A gateway after `via inet6` is ignored. A line that begins with `nexthop`
/// belongs to the family of the line before it.
std::string lines_of_family(std::string_view text, bool ipv6);

}  // namespace penumbra::forwarding
