// SPDX-License-Identifier: Apache-2.0
//
// Reads tables of lines (routes, entries, flows) in a configuration. A key names a file of lines, or has the lines
// itself: as a list, or as one text of several lines (`|`).
#pragma once

#include <string>
#include <vector>

#include "base/text_file.h"
#include "penumbra/config_node.h"

namespace penumbra::control {

/// Returns true if the value has the lines itself and names no file.
bool has_own_lines(const ConfigNode& node);

/// Returns an error about line `line` (from 1) of a table. Its place is in the table's file or in the configuration.
/// The place has `column` (from 1) of the line; 0: the column is unknown. In a list, the place is the element.
InputError error_at(const ConfigNode& table, int line, const std::string& message, int column = 0);

/// Returns the result of `parse(text, name)` for the table's lines. Throws InputError with the line's place, in the
/// file or in the configuration. If the file cannot be read, the error's place is the key.
template <class Parse>
auto parse_config_lines(const ConfigNode& node, const Parse& parse) {
  try {
    if (!has_own_lines(node)) return parse(read_text_file(node.path()), node.path().string());
    if (node.is_scalar()) return parse(node.text(), node.location().file);
    std::string text;
    for (const ConfigNode& element : node.list()) {
      const std::string line = element.text();
      if (line.find('\n') != std::string::npos) throw element.error("expected one line");
      text += line + "\n";
    }
    return parse(text, std::string());
  } catch (const InputError& error) {
    const auto& [file, line, column] = error.location();
    if (line == 0) throw node.error(error.what());
    if (!has_own_lines(node) || (node.is_list() && !file.empty())) throw;
    throw error_at(node, line, error.message(), column);
  }
}

}  // namespace penumbra::control
