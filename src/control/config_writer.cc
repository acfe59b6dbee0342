// SPDX-License-Identifier: Apache-2.0
#include "control/config_writer.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace penumbra::control {
namespace {

/// Copies a node and expands its aliases, so that a change at one place does not change another.
YAML::Node deep_copy(const YAML::Node& node) {
  if (!node.IsMap() && !node.IsSequence()) return YAML::Clone(node);
  YAML::Node copy(node.Type());
  copy.SetStyle(node.Style());
  for (const auto& entry : node) {
    if (node.IsMap()) {
      copy.force_insert(deep_copy(entry.first), deep_copy(entry.second));
    } else {
      copy.push_back(deep_copy(entry));
    }
  }
  return copy;
}

bool has_lines(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar().find('\n') != std::string::npos;
  return std::ranges::any_of(
      node, [&node](const auto& entry) { return node.IsMap() ? has_lines(entry.second) : has_lines(entry); });
}

/// Emits like yaml-cpp's own emitter, but writes texts of several lines as literal blocks.
void emit(YAML::Emitter& out, const YAML::Node& node) {
  if (node.IsMap() || node.IsSequence()) {
    const bool flow = (node.Style() == YAML::EmitterStyle::Flow || node.size() == 0) && !has_lines(node);
    if (flow) {
      out << YAML::Flow;
    } else {
      out << YAML::Block;
    }
    if (node.IsMap()) {
      out << YAML::BeginMap;
      for (const auto& entry : node) {
        out << YAML::Key;
        emit(out, entry.first);
        out << YAML::Value;
        emit(out, entry.second);
      }
      out << YAML::EndMap;
    } else {
      out << YAML::BeginSeq;
      for (const auto& entry : node) emit(out, entry);
      out << YAML::EndSeq;
    }
  } else if (!node.IsScalar()) {
    out << YAML::Null;
  } else if (node.Scalar().find('\n') != std::string::npos) {
    out << YAML::Literal << node.Scalar();
  } else if (node.Tag() == "!") {  // The scalar is quoted in the source.
    out << YAML::DoubleQuoted << node.Scalar();
  } else {
    out << node.Scalar();
  }
}

std::string text_of(const YAML::Node& node) {
  YAML::Emitter out;
  emit(out, node);
  return std::string(out.c_str()) + "\n";
}

/// Holds the line numbers of a top-level section, from 0. lines_of_section() returns nothing if the document is no map
/// in block style.
struct Lines {
  std::size_t begin = 0, end = 0;
};
std::optional<Lines> lines_of_section(const YAML::Node& root, const std::string& key,
                                      const std::vector<std::string>& text) {
  std::optional<Lines> lines;
  for (const auto& entry : root) {
    if (entry.first.Mark().column != 0) return std::nullopt;
    if (entry.first.Scalar() == key) lines = {static_cast<std::size_t>(entry.first.Mark().line), text.size()};
  }
  if (!lines) return std::nullopt;
  for (const auto& entry : root) {
    const auto line = static_cast<std::size_t>(entry.first.Mark().line);
    if (line > lines->begin) lines->end = std::min(lines->end, line);
  }
  // Comments above the next section belong to that section.
  const auto is_comment = [](const std::string& line) { return line.empty() || line[0] == '#' || line == "\r"; };
  while (lines->end > lines->begin + 1 && lines->end < text.size() && is_comment(text[lines->end - 1])) --lines->end;
  return lines;
}

bool is_valid(const std::string& text) {
  try {
    YAML::Load(text);
    return true;
  } catch (const YAML::Exception&) {
    return false;
  }
}

}  // namespace

ConfigEditor::ConfigEditor(const ConfigNode& root) : root_(root), copy_(deep_copy(root.yaml())) {}

YAML::Node ConfigEditor::ports() {
  changed_.insert("ports");
  YAML::Node list = copy_["ports"];
  if (list.size() == 0) list.SetStyle(YAML::EmitterStyle::Block);
  return list;
}

YAML::Node ConfigEditor::stage(std::size_t position) {
  changed_.insert("pipeline");
  YAML::Node list = copy_["pipeline"];
  YAML::Node element = list[position];
  if (!element.IsMap()) {
    YAML::Node map(YAML::NodeType::Map);
    map[element.Scalar()] = YAML::Node(YAML::NodeType::Map);
    list[position] = map;
    element.reset(map);
  }
  const std::string name = element.begin()->first.Scalar();
  if (!element[name].IsMap()) element[name] = YAML::Node(YAML::NodeType::Map);
  return element[name];
}

void ConfigEditor::set(const StageValue& value) {
  YAML::Node map = stage(value.stage);
  if (!value.is_file && value.value.empty()) {
    map[value.key] = YAML::Node(YAML::NodeType::Sequence);
  } else {
    map[value.key] = value.value;
  }
}

std::string ConfigEditor::text() const {
  std::string source = root_.source();
  if (changed_.empty()) return source;
  std::vector<std::string> text;
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) text.push_back(line);
  // Maps the first line of a section to its end and its key.
  std::map<std::size_t, std::pair<std::size_t, std::string>> replaced;
  for (const auto& key : changed_) {
    const auto section = lines_of_section(root_.yaml(), key, text);
    if (!section) return text_of(copy_);
    replaced[section->begin] = {section->end, key};
  }
  std::string written;
  for (std::size_t i = 0; i < text.size();) {
    const auto found = replaced.find(i);
    if (found == replaced.end()) {
      written += text[i++] + "\n";
      continue;
    }
    const auto& [end, key] = found->second;
    YAML::Node section(YAML::NodeType::Map);
    section[key] = copy_[key];
    written += text_of(section);
    i = end;
  }
  // An unchanged section may use an anchor of a replaced one; then all is written from the copy.
  return is_valid(written) ? written : text_of(copy_);
}

std::string write_config(const ConfigNode& root, std::span<const StageValue> values) {
  ConfigEditor editor(root);
  for (const StageValue& value : values) editor.set(value);
  return editor.text();
}

}  // namespace penumbra::control
