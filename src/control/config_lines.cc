// SPDX-License-Identifier: Apache-2.0
#include "control/config_lines.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace penumbra::control {
namespace {

/// Returns line `number` (from 1) of a text, without its end.
std::string_view line_of(std::string_view text, int number) {
  for (; number > 1; --number) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// Returns the place of a column in a line of a text of several lines. Only a literal text (`|`) has its lines as they
/// are in the configuration: after the line of the `|`, and indented. The place in any other text is its beginning.
SourceLocation place_in_text(const ConfigNode& table, int line, int column) {
  SourceLocation place = table.location();
  const std::string text = table.text();
  const std::string_view wanted = line_of(text, line), found = line_of(table.source(), place.line + line);
  if (wanted.empty() || !found.ends_with(wanted)) return place;
  const std::size_t first_word = std::min(wanted.find_first_not_of(" \t"), wanted.size());
  const std::size_t at = column == 0 ? first_word : static_cast<std::size_t>(column) - 1;
  place.line += line;
  place.column = static_cast<int>(found.size() - wanted.size() + at) + 1;
  return place;
}

}  // namespace

bool has_own_lines(const ConfigNode& node) {
  return node.is_list() || (node.is_scalar() && node.text().find('\n') != std::string::npos);
}

InputError error_at(const ConfigNode& table, int line, const std::string& message, int column) {
  if (!has_own_lines(table)) return {{.file = table.path().string(), .line = line, .column = column}, message};
  if (table.is_list()) return table.list()[static_cast<std::size_t>(line) - 1].error(message);
  return {place_in_text(table, line, column), message};
}

}  // namespace penumbra::control
