// SPDX-License-Identifier: Apache-2.0
//
// Rules and headers as ClassBench writes them (D. Taylor, J. Turner: ClassBench: A Packet Classification Benchmark,
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

/// Reads a filter file, of IPv4 or IPv6 as its first rule is: a rule a line,
///
///   @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK]
///
/// the ranges those of source and destination ports. The earlier rule wins: all have priority 0. Flags do not count.
/// `#` begins a comment, empty lines are skipped. Throws InputError with file, line and column.
RuleList read_classbench(const std::filesystem::path& file);
RuleList parse_classbench(std::string_view text, const std::string& name);

/// Writes rules of 5-tuples so that parse_classbench() reads them back, with flags that match all. Throws
/// std::invalid_argument for what the syntax cannot say: masks of addresses or ports that are no prefixes, ports with
/// both a mask and a range, priorities that go up.
void write_classbench(std::ostream& out, RuleFields fields, std::span<const Rule> rules);

/// One line of a trace: source, destination, source port, destination port, protocol, and columns that do not count.
/// Addresses of IPv4 are decimal numbers; those of IPv6 are written as addresses. Throws InputError.
RuleWords parse_trace_line(Line& line, RuleFields fields);
/// Every line of a trace that has words in it.
std::vector<RuleWords> parse_trace(std::string_view text, const std::string& name, RuleFields fields);

/// The header as a line, with flags 0 and, as ClassBench has it, the number of the rule that it was drawn from.
std::string trace_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from);

}  // namespace penumbra::control::rules
