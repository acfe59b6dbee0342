// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/option.h"

#include <string>

#include "functions/ids/rules/words.h"

namespace penumbra::ids {
namespace {

/// Returns the position of the next unescaped `wanted`, or npos.
std::size_t find_unescaped(std::string_view text, char wanted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == wanted) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<Option> split_options(const RuleSource& source, std::string_view text) {
  std::vector<Option> options;
  while (!trim(text).empty()) {
    const std::size_t end = find_unescaped(text, ';');
    const std::string_view part = trim(text.substr(0, end));
    if (end == std::string_view::npos) throw source.error(part, "option does not end in ';'");
    text.remove_prefix(end + 1);
    if (part.empty()) continue;
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) {
      options.push_back({part, part.substr(part.size()), false});
    } else {
      options.push_back({trim(part.substr(0, colon)), trim(part.substr(colon + 1)), true});
    }
  }
  return options;
}

namespace {

/// Takes the "!" and the first quote off `value`. Returns false if there is no quote.
bool open_quotes(std::string_view& value, QuotedValue& result) {
  if (value.starts_with('!')) {
    result.negated = true;
    value = trim_left(value.substr(1));
  }
  if (!value.starts_with('"')) return false;
  value.remove_prefix(1);
  return true;
}

/// Divides `value`, the text after the first quote, at the closing quote.
QuotedValue divide(const RuleSource& source, const Option& option, std::string_view value, std::size_t end,
                   QuotedValue result) {
  if (end == std::string_view::npos) {
    throw source.error(option.value, "value of '" + std::string(option.name) + "' is wrong",
                       " has no closing quote; ';' within quotes is written '\\;'");
  }
  result.text = value.substr(0, end);
  result.rest = trim(value.substr(end + 1));
  return result;
}

}  // namespace

QuotedValue read_quoted(const RuleSource& source, const Option& option) {
  QuotedValue result;
  std::string_view value = option.value;
  if (!open_quotes(value, result)) {
    throw source.error(option.value, "value of '" + std::string(option.name) + "' is wrong", " has no quotes");
  }
  return divide(source, option, value, find_unescaped(value, '"'), result);
}

QuotedValue read_loosely_quoted(const RuleSource& source, const Option& option) {
  QuotedValue result;
  std::string_view value = option.value;
  if (open_quotes(value, result)) return divide(source, option, value, value.rfind('"'), result);
  result.text = value;
  result.rest = value.substr(value.size());
  return result;
}

std::string unescape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() &&
        std::string_view("\";:\\").find(text[i + 1]) != std::string_view::npos) {
      ++i;
    }
    result += text[i];
  }
  return result;
}

}  // namespace penumbra::ids
