// SPDX-License-Identifier: Apache-2.0
//
// Rules and headers in whichever of the two syntaxes they are written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "control/line_reader.h"
#include "control/rules/rule_list.h"

namespace penumbra::control::rules {

/// A file whose first line begins with '@' is one of ClassBench (classbench.h), any other one of flows (flow_syntax.h),
/// whose actions are left out. Throws InputError.
RuleList read_rules(const std::filesystem::path& file);
RuleList parse_rules(std::string_view text, const std::string& name);

/// A header for rules of these fields: for 5-tuples a line of a ClassBench trace, for OpenFlow's 12 fields a flow's
/// key. Throws InputError.
RuleWords parse_header(Line& line, RuleFields fields);

/// The header as such a line; `drawn_from` as in trace_line().
std::string header_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from);

}  // namespace penumbra::control::rules
