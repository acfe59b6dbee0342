// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "functions/acl/entry.h"
#include "functions/rule_list/change.h"
#include "penumbra/command.h"

namespace penumbra::acl {

/// What the function registers.
std::vector<FunctionCommand> commands();

/// Carries out a command on a list without its default. An entry is a file's line, with its place in front ("at 3") if
/// that matters; a place alone names an entry that is to be removed. Throws InputError at a line that is wrong.
rule_list::Edited<Entry> edit(const std::vector<Entry>& list, std::string_view action, const CommandEntries& entries,
                              Family family);

}  // namespace penumbra::acl
