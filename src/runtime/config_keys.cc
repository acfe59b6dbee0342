// SPDX-License-Identifier: Apache-2.0
#include "runtime/config_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

namespace penumbra::runtime {
namespace {

/// Represents a line and a column, both from 0.
using Position = std::pair<int, int>;

Position position_of(const YAML::Mark& mark) {
  return {mark.line, mark.column};
}

void replace_all(std::string& text, const std::string& before, const std::string& after) {
  for (std::size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + after.size())) {
    text.replace(at, before.size(), after);
  }
}

/// Returns the index of the list's element that contains the position.
std::optional<std::size_t> element_at(const YAML::Node& list, Position position) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (position_of(list[i].Mark()) <= position) found = i;
  }
  return found;
}

/// Finds the innermost key that begins at a position or before it.
class Finder {
 public:
  explicit Finder(Position position) : position_(position) {}

  /// Searches a node. `path` is the path of the node.
  void enter(const YAML::Node& node, const std::string& path) {
    path_ = path;
    if (node.IsMap()) {
      std::optional<std::pair<YAML::Node, YAML::Node>> inner;
      for (const auto& entry : node) {
        if (entry.first.IsScalar() && position_of(entry.first.Mark()) <= position_)
          inner.emplace(entry.first, entry.second);
      }
      if (inner) enter(inner->second, path + "." + inner->first.Scalar());
    } else if (node.IsSequence()) {
      if (const auto at = element_at(node, position_)) enter_element(node[*at], path);
    } else if (node.IsScalar()) {
      find_line(node);
    }
  }

  const std::string& path() const { return path_; }
  /// Returns the entry of a table, or "" if the position is not in a table.
  const std::string& entry() const { return entry_; }

 private:
  void enter_element(const YAML::Node& element, const std::string& path) {
    enter(element, path);
    if (element.IsScalar() && entry_.empty()) entry_ = element.Scalar();
  }
  /// The text of a block scalar (`|`) begins in the next line.
  void find_line(const YAML::Node& text) {
    const int number = position_.first - text.Mark().line;
    if (number < 1 || text.Scalar().find('\n') == std::string::npos) return;
    std::size_t begin = 0;
    for (int line = 1; line < number && begin < text.Scalar().size(); ++line) {
      begin = std::min(text.Scalar().find('\n', begin), text.Scalar().size() - 1) + 1;
    }
    entry_ = text.Scalar().substr(begin, text.Scalar().find('\n', begin) - begin);
  }

  Position position_;
  std::string path_, entry_;
};

/// Returns the name of the port in a line, counted from 0. A line may contain several ports.
std::string port_in_line(const YAML::Node& ports, int line) {
  const auto at = element_at(ports, {line, std::numeric_limits<int>::max()});
  if (!at) return "another place";
  const auto begins_there = [&](const auto& port) { return port.Mark().line == ports[*at].Mark().line; };
  const YAML::Node name = ports[*at]["name"];
  if (std::ranges::count_if(ports, begins_there) > 1 || !name.IsDefined()) return "another port";
  return "ports." + name.Scalar();
}

/// Replaces line numbers of the configuration in a message by the names of ports.
std::string without_lines(std::string message, const YAML::Node& root) {
  static const std::regex kLine("in line ([0-9]{1,8})");
  for (std::smatch found; std::regex_search(message, found, kLine);) {
    const std::string place = port_in_line(root["ports"], std::stoi(found[1]) - 1);
    message = found.prefix().str() + "in " + place + found.suffix().str();
  }
  return message;
}

/// Replaces indices of ports and stages in a message by their names.
std::string with_names(std::string message, const YAML::Node& root, std::span<const std::string> stages) {
  for (std::size_t i = 0; i < root["ports"].size(); ++i) {
    const YAML::Node name = root["ports"][i]["name"];
    if (name.IsDefined() && name.IsScalar()) {
      replace_all(message, fmt::format("ports[{}]", i), "ports." + name.Scalar());
    }
  }
  for (std::size_t i = 0; i < stages.size() && i < root["pipeline"].size(); ++i) {
    const YAML::Node element = root["pipeline"][i];
    const std::string position = fmt::format("pipeline[{}]", i);
    if (element.IsMap()) replace_all(message, position + "." + element.begin()->first.Scalar(), stages[i]);
    replace_all(message, position, stages[i]);
  }
  return message;
}

}  // namespace

InputError at_key(const InputError& error, const ConfigNode& config, std::span<const std::string> stages) {
  const YAML::Node& root = config.yaml();
  const auto& [file, line, column] = error.location();
  const int known_column = column == 0 ? std::numeric_limits<int>::max() : column - 1;
  Finder finder({line - 1, known_column});
  std::string section;
  for (const auto& entry : root) {
    if (position_of(entry.first.Mark()) <= Position{line - 1, known_column}) section = entry.first.Scalar();
  }
  if (section.empty()) return {{}, error.message()};
  const YAML::Node value = root[section];
  const auto at = value.IsSequence() ? element_at(value, {line - 1, known_column}) : std::nullopt;
  if (section == "ports" && at && value[*at].IsMap()) {
    const YAML::Node name = value[*at]["name"];
    finder.enter(value[*at], "ports." + (name.IsDefined() && name.IsScalar() ? name.Scalar() : fmt::format("{}", *at)));
  } else if (section == "pipeline" && at && *at < stages.size()) {
    const YAML::Node element = value[*at];
    finder.enter(element.IsMap() ? element.begin()->second : YAML::Node(), stages[*at]);
  } else {
    finder.enter(value, section);
  }
  std::string message = with_names(error.message(), root, stages);
  replace_all(message, fmt::format(" for {},", finder.path()), ",");
  const std::string entry = section == "pipeline" ? finder.entry() : "";
  // Line numbers in an error about a table refer to the table itself.
  if (entry.empty()) message = without_lines(std::move(message), root);
  const bool names_entry = !entry.empty() && message.find(entry) == std::string::npos;
  return {{}, fmt::format("{}: {}{}", finder.path(), names_entry ? quote(entry) + ": " : "", message)};
}

}  // namespace penumbra::runtime
