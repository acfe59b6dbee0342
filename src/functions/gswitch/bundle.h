// SPDX-License-Identifier: Apache-2.0
//
// Carries out lines of `ovs-ofctl --bundle add-flows` on a table (ovs-ofctl(8), OpenFlow 1.4 section 6.4). Each line is
// a flow after one of the words `add`, `modify`, `modify_strict`, `delete` and `delete_strict`. `add` may be left out.
#pragma once

#include <cstddef>
#include <vector>

#include "functions/gswitch/settings.h"
#include "functions/rule_list/change.h"
#include "penumbra/command.h"

namespace penumbra::gswitch {

/// Returns the table after all lines, which take effect in their order. `flows` is sorted by falling priority, and so
/// is the result. Throws InputError with the place of a wrong line.
rule_list::Edited<FlowEntry> carry_out_bundle(const std::vector<FlowEntry>& flows, const CommandEntries& lines,
                                              std::size_t router_ports, Fields fields);

}  // namespace penumbra::gswitch
