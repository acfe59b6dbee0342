// SPDX-License-Identifier: Apache-2.0
#include "control/rules/rule_file.h"

#include "base/text_file.h"
#include "control/rules/classbench.h"
#include "control/rules/flow_syntax.h"

namespace penumbra::control::rules {

RuleList read_rules(const std::filesystem::path& file) {
  return parse_rules(read_text_file(file), file.string());
}

RuleList parse_rules(std::string_view text, const std::string& name) {
  LineReader reader(text, name);
  Line first;
  if (reader.next(first) && !first.peek().starts_with('@')) return parse_flow_rules(text, name);
  return parse_classbench(text, name);
}

RuleWords parse_header(Line& line, RuleFields fields) {
  return fields == RuleFields::openflow ? parse_flow_key(line) : parse_trace_line(line, fields);
}

std::string header_line(RuleFields fields, const RuleWords& key, std::uint32_t drawn_from) {
  return fields == RuleFields::openflow ? flow_key_text(key) + "\n" : trace_line(fields, key, drawn_from);
}

}  // namespace penumbra::control::rules
