// SPDX-License-Identifier: Apache-2.0
//
// Rules of OpenFlow 1.0's 12 fields as ovs-ofctl(8) of Open vSwitch writes flows ("Flow Syntax"), and headers in the
// same words.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/rules/flow_action.h"
#include "control/rules/rule_list.h"

namespace penumbra::control::rules {

inline constexpr std::uint16_t kDefaultFlowPriority = 32768;

/// Flows as a file has them: rules, and what is done with what they match.
struct FlowList {
  RuleList list{.fields = RuleFields::openflow, .rules = {}, .lines = {}};
  std::vector<std::uint32_t> actions;     ///< of each rule, into `action_lists`
  std::vector<FlowActions> action_lists;  ///< all different
};

/// Reads a file of flows, or what `ovs-ofctl dump-flows` prints: a flow a line, `#` begins a comment, empty lines are
/// skipped (docs/rules.md has the syntax). What a dump says of a flow's history and age is read over. A field needs
/// those that say that a packet has it: `tp_dst` needs `tcp`, say. Throws InputError with file, line and column.
FlowList read_flows(const std::filesystem::path& file);
FlowList parse_flows(std::string_view text, const std::string& name);

/// Writes what parse_flows() reads back as the same, in ovs-ofctl's own order of fields. Throws std::invalid_argument
/// for a match that this syntax cannot say: with ranges, say, or with a field of packets that it does not ask for.
void write_flows(std::ostream& out, const FlowList& flows);
/// One match, without priority and actions; of one that matches all an empty text.
std::string flow_match_text(const RuleMatch& match);

/// A header, of fields that each have one value: `in_port=1,dl_src=02:00:00:00:00:01,tcp,nw_src=192.0.2.1,tp_dst=80`. A
/// field that is not named is 0; there is no VLAN tag if neither `dl_vlan` nor `vlan_tci` is named. Throws InputError.
RuleWords parse_flow_key(Line& line);
/// What parse_flow_key() reads back as the same. Throws std::invalid_argument for fields that no packet has together.
std::string flow_key_text(const RuleWords& key);

}  // namespace penumbra::control::rules
