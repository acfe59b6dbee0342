// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "functions/gswitch/settings.h"
#include "functions/rule_list/change.h"
#include "penumbra/command.h"

namespace penumbra::gswitch {

/// Returns the commands that the function registers.
std::vector<FunctionCommand> commands();

/// Applies a command to the flows of a table, which must not contain the entry for a miss. The router has
/// `router_ports` ports. A flow is identified by its priority and its match. Throws InputError for an invalid line.
rule_list::Edited<FlowEntry> edit(const std::vector<FlowEntry>& flows, std::string_view action,
                                  const CommandEntries& entries, std::size_t router_ports, Fields fields);

}  // namespace penumbra::gswitch
