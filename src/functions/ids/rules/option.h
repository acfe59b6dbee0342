// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "functions/ids/rules/source.h"

namespace penumbra::ids {

/// One option of a rule: "NAME;" or "NAME:VALUE;". The parts are trimmed views of the rule's text.
struct Option {
  std::string_view name;
  std::string_view value;
  bool has_value = false;
};

/// Splits the options between the parentheses. A backslash escapes the next byte, also within quotes.
std::vector<Option> split_options(const RuleSource& source, std::string_view text);

/// The parts of a quoted value: !"TEXT",REST.
struct QuotedValue {
  bool negated = false;
  std::string_view text;  ///< Between the quotes, with escapes.
  std::string_view rest;  ///< After the quotes, trimmed.
};
/// Reads a quoted value. Throws RuleError if there are no quotes.
QuotedValue read_quoted(const RuleSource& source, const Option& option);
/// Reads a value whose quotes may be missing, and may contain quotes without escapes: the value of `pcre`.
QuotedValue read_loosely_quoted(const RuleSource& source, const Option& option);

/// Returns the text without backslashes before '"', ';', ':' and '\'.
std::string unescape(std::string_view text);

}  // namespace penumbra::ids
