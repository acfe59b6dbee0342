// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "functions/megaflows/flow_table.h"
#include "penumbra/command.h"

namespace penumbra::megaflows {

/// Returns the commands that the function registers.
std::vector<FunctionCommand> commands();

/// Checks the entries of a command and returns its change. Throws InputError for a wrong entry.
std::unique_ptr<Change> prepare_command(std::string_view action, const CommandEntries& entries, FlowTable& table,
                                        std::span<const PortInfo> ports);

}  // namespace penumbra::megaflows
