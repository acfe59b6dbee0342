// SPDX-License-Identifier: Apache-2.0
//
// Flows in the syntax of Open vSwitch's ovs-ofctl(8) ("Flow Syntax"), and headers of OpenFlow 1.0's 12 fields in the
// same words.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/rules/flow_action.h"
#include "control/rules/rule_list.h"

namespace penumbra::control::rules {

inline constexpr std::uint16_t kDefaultFlowPriority = 32768;

struct Flow {
  SparseMatch match;
  std::uint16_t priority = kDefaultFlowPriority;
  std::uint32_t line = 0;     ///< From 1.
  std::uint32_t actions = 0;  ///< Index into FlowList::action_lists.
};

/// Holds the flows of a file, in its order.
struct FlowList {
  std::vector<Flow> flows;
  std::vector<FlowActions> action_lists;  ///< All different.
};

/// Reads a file of flows, or the output of `ovs-ofctl dump-flows`: one flow a line. `#` begins a comment; empty lines
/// are skipped (docs/rules.md has the syntax). A dump's words about a flow's history and age are skipped. A field needs
/// its prerequisites: `tp_dst` needs `tcp`, for example. Throws InputError with file, line and column.
FlowList parse_flows(std::string_view text, const std::string& name);
/// Parses flows whose matches have OpenFlow 1.0's 12 fields only, and returns their rules. Throws InputError.
RuleList parse_flow_rules(std::string_view text, const std::string& name);

/// Writes the form that parse_flows() reads back unchanged, in ovs-ofctl's order of fields. Throws
/// std::invalid_argument for a match that the syntax cannot express, such as a field without its prerequisites.
void write_flows(std::ostream& out, const FlowList& flows);
/// Returns one match without priority and actions. The text is empty for a match of all packets.
std::string flow_match_text(const SparseMatch& match);

/// Parses a header of OpenFlow 1.0's 12 fields, which have one value each:
/// `in_port=1,dl_src=02:00:00:00:00:01,tcp,nw_src=192.0.2.1,tp_dst=80`. Absent fields are 0. There is no VLAN tag
/// unless `dl_vlan` or `vlan_tci` is present. Throws InputError.
RuleWords parse_flow_key(Line& line);
/// Returns the form that parse_flow_key() reads back unchanged. Throws std::invalid_argument for fields that no packet
/// has together.
std::string flow_key_text(const RuleWords& key);

}  // namespace penumbra::control::rules
