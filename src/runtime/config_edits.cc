// SPDX-License-Identifier: Apache-2.0
#include "runtime/config_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "control/config_writer.h"
#include "control/port_entry.h"
#include "penumbra/errors.h"

namespace penumbra::runtime {
namespace {

constexpr const char* kEntry =
    "NAME device DEVICE [addresses ADDRESS/LENGTH[,...]] [mtu N] [twin true|NAME] [KEY VALUE]...";

std::vector<std::string> names_of(const YAML::Node& ports) {
  std::vector<std::string> names;
  names.reserve(ports.size());
  for (const auto& port : ports) names.push_back(port["name"].Scalar());
  return names;
}

/// Returns the position of a port in the list.
std::optional<std::size_t> find(const YAML::Node& ports, const std::string& name) {
  const auto names = names_of(ports);
  const auto at = std::ranges::find(names, name);
  if (at == names.end()) return std::nullopt;
  return static_cast<std::size_t>(at - names.begin());
}

void add(YAML::Node& ports, const control::PortEntry& entry, ConfigEdit& edit) {
  ports.push_back(entry.port);
  ++edit.counts.added;
}

void replace(YAML::Node& ports, const control::PortEntry& entry, ConfigEdit& edit) {
  const auto at = find(ports, entry.name);
  if (!at) return add(ports, entry, edit);
  const std::string before = control::port_line(ports[*at]), after = control::port_line(entry.port);
  if (before == after) return;
  ports[*at] = entry.port;
  ++edit.counts.changed;
}

void remove(YAML::Node& ports, const control::PortEntry& entry, ConfigEdit& edit) {
  const auto at = find(ports, entry.name);
  if (!at) {
    const std::string mend = did_you_mean_or_list(entry.name, names_of(ports));
    throw InputError(entry.place,
                     fmt::format("there is no port {}{}{}", quote(entry.name), mend.empty() ? "" : "; ", mend));
  }
  ports.remove(*at);
  ++edit.counts.removed;
}

/// A path of keys that is consumed from its front.
class Path {
 public:
  explicit Path(const std::string& text) : rest_(text) {}

  /// Takes the longest of the names with which the path begins, or nothing if there is none. The names may contain
  /// dots.
  std::optional<std::string> take_one_of(std::span<const std::string> names) {
    std::optional<std::string> longest;
    for (const auto& name : names) {
      const bool fits = rest_ == name || rest_.starts_with(name + ".");
      if (fits && (!longest || name.size() > longest->size())) longest = name;
    }
    if (longest) drop(longest->size());
    return longest;
  }
  std::string take() {
    const std::size_t dot = std::min(rest_.find('.'), rest_.size());
    std::string key = rest_.substr(0, dot);
    drop(dot);
    return key;
  }
  bool is_empty() const { return rest_.empty(); }
  const std::string& rest() const { return rest_; }

 private:
  void drop(std::size_t letters) { rest_.erase(0, std::min(letters + 1, rest_.size())); }
  std::string rest_;
};

YAML::Node parse_value(const std::string& path, const std::string& text) {
  try {
    YAML::Node value = ConfigNode::parse(text, "", {}).yaml();
    if (value.IsMap() || value.IsSequence()) value.SetStyle(YAML::EmitterStyle::Flow);
    return value;
  } catch (const InputError& error) {
    throw InputError({}, fmt::format("{}: {}: {}", path, quote(text), error.message()));
  }
}

/// Changes a value inside the map and creates missing maps on the way.
void change(YAML::Node map, Path keys, const std::string& path, const std::optional<std::string>& value) {
  std::string key = keys.take();
  for (; !keys.is_empty(); key = keys.take()) {
    YAML::Node next = map[key];
    if (next.IsDefined() && !next.IsNull() && !next.IsMap()) {
      throw std::invalid_argument(fmt::format("{}: the value of {} has no keys", path, quote(key)));
    }
    if (!next.IsMap()) map[key] = YAML::Node(YAML::NodeType::Map);
    map.reset(map[key]);
  }
  if (key.empty()) throw std::invalid_argument(fmt::format("{}: a key is missing after the last dot", quote(path)));
  if (value) {
    map[key] = parse_value(path, *value);
  } else if (!map.remove(key)) {
    throw std::invalid_argument(fmt::format("{} is not set", quote(path)));
  }
}

std::string text_of_value(const YAML::Node& value) {
  YAML::Emitter out;
  out << YAML::Flow << value;
  return out.c_str();
}

void add_differences(const std::string& path, const YAML::Node& before, const YAML::Node& after,
                     std::vector<std::string>& lines) {
  const auto value_of = [](const YAML::Node& map, const std::string& key) {
    return map.IsMap() ? map[key] : YAML::Node(YAML::NodeType::Undefined);
  };
  for (const auto& entry : after) {
    const std::string key = entry.first.Scalar();
    const YAML::Node known = value_of(before, key);
    if (entry.second.IsMap() && known.IsDefined() && known.IsMap()) {
      add_differences(fmt::format("{}.{}", path, key), known, entry.second, lines);
    } else if (!known.IsDefined() || text_of_value(known) != text_of_value(entry.second)) {
      lines.push_back(fmt::format("{}.{}: {}", path, key, text_of_value(entry.second)));
    }
  }
  if (!before.IsMap()) return;
  for (const auto& entry : before) {
    const std::string key = entry.first.Scalar();
    if (!value_of(after, key).IsDefined()) lines.push_back(fmt::format("{}.{}: not set", path, key));
  }
}

/// Returns the settings of a function in an element of the pipeline, which may be the function's name alone.
YAML::Node settings_of(const YAML::Node& element) {
  const YAML::Node value = element.IsMap() ? element.begin()->second : YAML::Node();
  return value.IsMap() ? value : YAML::Node(YAML::NodeType::Map);
}

}  // namespace

std::vector<std::string> config_differences(const ConfigNode& saved, const ConfigNode& now,
                                            std::span<const std::string> stages) {
  std::vector<std::string> lines;
  const YAML::Node &before = saved.yaml(), &after = now.yaml();
  const auto lines_of = [](const YAML::Node& ports) {
    std::vector<std::string> all;
    for (const auto& port : ports) all.push_back(control::port_line(port));
    return all;
  };
  const auto ports_before = lines_of(before["ports"]), ports_after = lines_of(after["ports"]);
  const auto add_missing = [&lines](const auto& of, const auto& in, const char* sign) {
    for (const auto& line : of) {
      if (std::ranges::find(in, line) == in.end()) lines.push_back(sign + line);
    }
  };
  add_missing(ports_before, ports_after, "ports: - ");
  add_missing(ports_after, ports_before, "ports: + ");
  for (std::size_t i = 0; i < stages.size() && i < before["pipeline"].size() && i < after["pipeline"].size(); ++i) {
    add_differences(stages[i], settings_of(before["pipeline"][i]), settings_of(after["pipeline"][i]), lines);
  }
  return lines;
}

FunctionCommand port_command() {
  return {.name = "port",
          .help = "Add, change and remove ports of a running router",
          .actions = {{.name = "add", .help = "Add a port", .entry = kEntry},
                      {.name = "replace", .help = "Change a port's MTU, addresses or twin, or add it", .entry = kEntry},
                      {.name = "del", .help = "Remove a port", .entry = "NAME"}},
          .topic = "ports"};
}

ConfigEdit edit_ports(const control::RouterConfig& config, std::string_view action, const CommandEntries& entries) {
  control::ConfigEditor editor(*config.root);
  YAML::Node ports = editor.ports();
  ConfigEdit edit;
  if (action == "del") {
    for (const auto& entry : control::read_port_names(entries.text, entries.name)) remove(ports, entry, edit);
  } else {
    const auto directory = config.file.parent_path();
    for (const auto& entry : control::read_port_entries(entries.text, entries.name, directory)) {
      if (action == "replace") {
        replace(ports, entry, edit);
      } else if (find(ports, entry.name)) {
        throw InputError(entry.place, fmt::format("there is a port {} already: `penumbra port replace` changes it",
                                                  quote(entry.name)));
      } else {
        add(ports, entry, edit);
      }
    }
  }
  edit.text = editor.text();
  return edit;
}

ConfigEdit edit_setting(const control::RouterConfig& config, std::span<const std::string> stages,
                        const std::string& path, const std::optional<std::string>& value) {
  control::ConfigEditor editor(*config.root);
  Path keys(path);
  YAML::Node map;
  const std::vector<std::string> top{"ports"};
  if (keys.take_one_of(top)) {
    YAML::Node ports = editor.ports();
    const auto names = names_of(ports);
    const auto port = keys.take_one_of(names);
    const auto at = port ? find(ports, *port) : std::nullopt;
    if (!at) {
      const std::string word = keys.take();
      throw std::invalid_argument(
          fmt::format("{}: there is no port {}; {}", path, quote(word), did_you_mean_or_list(word, names)));
    }
    map.reset(ports[*at]);
  } else if (const auto stage = keys.take_one_of(stages)) {
    map.reset(editor.stage(static_cast<std::size_t>(std::ranges::find(stages, *stage) - stages.begin())));
  } else {
    const std::string word = keys.take();
    std::vector<std::string> words(stages.begin(), stages.end());
    words.emplace_back("ports");
    throw std::invalid_argument(fmt::format(
        "{}: expected ports.PORT.KEY or FUNCTION.KEY; {}; other settings take a restart: write them into {}",
        quote(path), did_you_mean_or_list(word, words), config.file.string()));
  }
  change(map, keys, path, value);
  ConfigEdit edit;
  edit.counts.changed = 1;
  edit.text = editor.text();
  return edit;
}

}  // namespace penumbra::runtime
