// SPDX-License-Identifier: Apache-2.0
#include "control/port_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "control/config.h"
#include "control/line_reader.h"

namespace penumbra::control {
namespace {

constexpr std::string_view kAddresses = "addresses";

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    if (comma == list.size()) return parts;
    list.remove_prefix(comma + 1);
  }
}

YAML::Node to_value(std::string_view key, std::string_view word) {
  if (key != kAddresses) return YAML::Node(std::string(word));
  YAML::Node list(YAML::NodeType::Sequence);
  list.SetStyle(YAML::EmitterStyle::Flow);
  for (const auto& part : split(word)) list.push_back(part);
  return list;
}

std::string quoted_text(const YAML::Node& value) {
  YAML::Emitter out;
  out << YAML::Flow << YAML::DoubleQuoted << value;
  return out.c_str();
}

/// Checks the port as a configuration with one line for each of `words`, so that an error's line identifies its word.
void check(const YAML::Node& port, const std::vector<std::string_view>& words, const Line& line,
           const std::filesystem::path& directory) {
  std::string text = "ports:\n";
  for (const auto& entry : port) {
    text += fmt::format("{} {}: {}\n", text.ends_with("ports:\n") ? "  -" : "   ", quoted_text(entry.first),
                        quoted_text(entry.second));
  }
  try {
    parse_config(text + "pipeline: []\n", "", directory);
  } catch (const InputError& error) {
    constexpr int kFirst = 2;
    const auto at = static_cast<std::size_t>(std::max(error.location().line - kFirst, 0));
    std::string message = error.message();
    constexpr std::string_view kPath = "ports[0].", kPort = "ports[0]";
    for (auto found = message.find(kPath); found != std::string::npos; found = message.find(kPath)) {
      message.erase(found, kPath.size());
    }
    for (auto found = message.find(kPort); found != std::string::npos; found = message.find(kPort)) {
      message.replace(found, kPort.size(), "the port");
    }
    throw line.error(words[std::min(at, words.size() - 1)], message);
  }
}

PortEntry read_entry(Line& line, const std::filesystem::path& directory) {
  const std::string_view name = line.take();
  const InputError place = line.error(name, "");
  PortEntry entry{.name = std::string(name), .port = YAML::Node(YAML::NodeType::Map), .place = place.location()};
  entry.port.SetStyle(YAML::EmitterStyle::Flow);
  entry.port["name"] = entry.name;
  std::vector<std::string_view> words{name};
  for (std::string_view key = line.take(); !key.empty(); key = line.take()) {
    const std::string_view value = line.require(fmt::format("a value of {}", quote(key)));
    entry.port.force_insert(std::string(key), to_value(key, value));
    words.push_back(key);
  }
  check(entry.port, words, line, directory);
  return entry;
}

}  // namespace

std::vector<PortEntry> read_port_entries(std::string_view text, const std::string& name,
                                         const std::filesystem::path& directory) {
  std::vector<PortEntry> entries;
  LineReader reader(text, name);
  for (Line line; reader.next(line);) entries.push_back(read_entry(line, directory));
  return entries;
}

std::vector<PortEntry> read_port_names(std::string_view text, const std::string& name) {
  std::vector<PortEntry> entries;
  LineReader reader(text, name);
  for (Line line; reader.next(line);) {
    const std::string_view word = line.take();
    entries.push_back({.name = std::string(word), .port = {}, .place = line.error(word, "").location()});
    if (const std::string_view more = line.take(); !more.empty()) {
      throw line.error(more,
                       fmt::format("expected the end of the line, found {}: a port's name is enough", quote(more)));
    }
  }
  return entries;
}

std::string port_line(const YAML::Node& port) {
  std::string line = port["name"].Scalar();
  for (const auto& entry : port) {
    const std::string key = entry.first.Scalar();
    if (key == "name") continue;
    std::string value;
    if (entry.second.IsSequence()) {
      for (const auto& element : entry.second) value += (value.empty() ? "" : ",") + element.Scalar();
    } else {
      value = entry.second.Scalar();
    }
    line += fmt::format(" {} {}", key, value);
  }
  return line;
}

}  // namespace penumbra::control
