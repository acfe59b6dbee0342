// SPDX-License-Identifier: Apache-2.0
//
// Reads rules and headers in either syntax.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "control/line_reader.h"
#include "control/rules/rule_list.h"

namespace penumbra::control::rules {

/// Reads a file of rules. A file whose first line begins with '@' has ClassBench's syntax (classbench.h). Any other
/// file has flows (flow_syntax.h), whose actions are ignored. Throws InputError.
RuleList read_rules(const std::filesystem::path& file);
RuleList parse_rules(std::string_view text, const std::string& name);

/// Parses a header for rules with the fields `fields`. For 5-tuples it is a line of a ClassBench trace, for OpenFlow's
/// 12 fields a flow's key. Throws InputError.
RuleWords parse_header(Line& line, RuleFields fields);

/// Returns the header in the form of parse_header(). See trace_line() for `drawn_from`.
std::string header_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from);

}  // namespace penumbra::control::rules
