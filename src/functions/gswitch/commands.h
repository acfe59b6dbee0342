// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "functions/gswitch/settings.h"
#include "functions/rule_list/change.h"
#include "penumbra/command.h"

namespace penumbra::gswitch {

/// What the function registers.
std::vector<FunctionCommand> commands();

/// Carries out a command on the flows of a table in a router with so many ports, without what is done on a miss. A flow
/// is known by its priority and its match. Throws InputError at a line that is wrong.
rule_list::Edited<FlowEntry> edit(const std::vector<FlowEntry>& flows, std::string_view action,
                                  const CommandEntries& entries, std::size_t router_ports);

}  // namespace penumbra::gswitch
