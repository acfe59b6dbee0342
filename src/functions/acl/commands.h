// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "functions/acl/entry.h"
#include "functions/rule_list/change.h"
#include "penumbra/command.h"

namespace penumbra::acl {

/// Returns the commands that the function registers.
std::vector<FunctionCommand> commands();

/// Applies a command to `list`, which must not contain the default. Each line has an entry in the format of the file,
/// optionally after its place ("at 3"). To remove an entry, a line may have the place alone. Throws InputError for an
/// invalid line.
rule_list::Edited<Entry> edit(const std::vector<Entry>& list, std::string_view action, const CommandEntries& entries,
                              Family family);

}  // namespace penumbra::acl
