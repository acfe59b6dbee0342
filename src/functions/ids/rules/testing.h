// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the tests of rules.
#pragma once

#include <optional>
#include <string>

#include "functions/ids/rules/parser.h"

namespace penumbra::ids {

/// Parses the only rule of a text, named "test.rules".
inline Rule parse_text(const std::string& text, const Variables& variables = Variables::defaults()) {
  HeaderSets sets(variables);
  LineJoiner lines("test.rules", text);
  return parse_rule(lines.next().value(), sets);
}

/// Returns the rule "alert PROTOCOL any any -> any any (OPTIONS sid:1;)".
inline std::string rule_text(const std::string& options, const std::string& protocol = "ip") {
  return "alert " + protocol + " any any -> any any (" + options + " sid:1;)";
}
inline Rule parse_options(const std::string& options, const std::string& protocol = "ip") {
  return parse_text(rule_text(options, protocol));
}

}  // namespace penumbra::ids
