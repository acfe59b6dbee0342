// SPDX-License-Identifier: Apache-2.0
//
// Rules and headers in ClassBench's formats (D. Taylor, J. Turner: ClassBench: A Packet Classification Benchmark,
// INFOCOM 2005).
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"
#include "control/rules/rule_list.h"

namespace penumbra::control::rules {

/// Reads a filter file with one rule a line. The first rule determines the family, IPv4 or IPv6.
///
///   @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK]
///
/// The ranges are source and destination ports. All rules have priority 0, so the earlier one wins. Flags are ignored.
/// `#` begins a comment; empty lines are skipped. Throws InputError with file, line and column.
RuleList read_classbench(const std::filesystem::path& file);
RuleList parse_classbench(std::string_view text, const std::string& name);

/// Writes rules of 5-tuples in the form that parse_classbench() reads, with flags that match all. Throws
/// std::invalid_argument for rules that the syntax cannot express: masks that are no prefixes, ports with both a mask
/// and a range, and ascending priorities.
void write_classbench(std::ostream& out, RuleFields fields, std::span<const Rule> rules);

/// Parses one line of a trace: source, destination, source port, destination port, protocol, and columns that are
/// ignored. IPv4 addresses are decimal numbers; IPv6 addresses have their usual form. Throws InputError.
RuleWords parse_trace_line(Line& line, RuleFields fields);
/// Parses every non-empty line of a trace.
std::vector<RuleWords> parse_trace(std::string_view text, const std::string& name, RuleFields fields);

/// Returns a header as a line, with flags 0 and the number of the rule from which it was drawn, as in ClassBench's
/// traces.
std::string trace_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from);

}  // namespace penumbra::control::rules
