// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/suricata_yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.h"
#include "functions/ids/rules/yaml_values.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {
namespace {

void read_group(const ConfigNode& vars, const char* name, std::map<std::string, std::string, std::less<>>& group) {
  const ConfigNode node = vars.get(name);
  if (!is_set(node)) return;
  for (const std::string& key : node.keys()) {
    const ConfigNode value = node.get(key);
    if (!value.is_null()) group.insert_or_assign(key, header_text_of(value));
  }
}

void add_file(const ConfigNode& root, const char* key, std::vector<std::filesystem::path>& files) {
  const ConfigNode node = root.get(key);
  if (is_set(node)) files.push_back(node.path());
}

/// Adds the files that a pattern of the shell names, sorted.
void add_matching(const ConfigNode& node, const std::filesystem::path& pattern,
                  std::vector<std::filesystem::path>& rules) {
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) != 0) {
    globfree(&found);
    throw node.error("no file is named " + quote(pattern.string()));
  }
  rules.insert(rules.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
}

void read_rule_files(const ConfigNode& root, std::vector<std::filesystem::path>& rules) {
  const ConfigNode files = root.get("rule-files");
  if (!is_set(files)) return;
  const ConfigNode folder = root.get("default-rule-path");
  for (const ConfigNode& file : files.list()) {
    const std::filesystem::path name = file.text();
    const bool in_folder = name.is_relative() && is_set(folder);
    const std::filesystem::path path = in_folder ? folder.path() / name : file.path();
    if (name.string().find_first_of("*?[") == std::string::npos) {
      rules.push_back(path);
    } else {
      add_matching(file, path, rules);
    }
  }
}

/// Reads the order of the four actions.
ActionOrder read_action_order(const ConfigNode& node) {
  constexpr std::array<std::pair<std::string_view, Action>, 4> kNames{
      {{"pass", Action::pass}, {"drop", Action::drop}, {"reject", Action::reject}, {"alert", Action::alert}}};
  ActionOrder order{};
  std::size_t count = 0;
  for (const ConfigNode& member : node.list()) {
    const auto* const found = std::ranges::find(kNames, member.text(), [](const auto& each) { return each.first; });
    const bool is_new = found != kNames.end() &&
                        std::find(order.begin(), order.begin() + count, found->second) == order.begin() + count;
    if (!is_new) {
      throw member.error("found " + quote(member.text()) + ", needs pass, drop, reject and alert, each once");
    }
    order[count++] = found->second;
  }
  if (count != order.size()) throw node.error("needs pass, drop, reject and alert, each once");
  return order;
}

constexpr std::array kRead = std::to_array<std::string_view>(
    {"vars", "rule-files", "default-rule-path", "classification-file", "reference-config-file", "threshold-file",
     "suricata-version", "stream", "host-os-policy", "action-order", "decoder", "exception-policy", "app-layer",
     "defrag", "flow"});

}  // namespace

SuricataYaml read_suricata_yaml(const std::filesystem::path& file) {
  const ConfigNode root = ConfigNode::load(file);
  SuricataYaml result;
  if (root.is_null()) return result;
  const ConfigNode vars = root.get("vars");
  if (is_set(vars)) {
    if (!vars.is_map()) throw vars.error("found " + quote(vars.canonical()) + ", needs address-groups and port-groups");
    read_group(vars, "address-groups", result.options.variables.addresses);
    read_group(vars, "port-groups", result.options.variables.ports);
  }
  add_file(root, "classification-file", result.options.classifications);
  add_file(root, "reference-config-file", result.options.references);
  add_file(root, "threshold-file", result.options.thresholds);
  read_rule_files(root, result.options.rules);
  if (const ConfigNode order = root.get("action-order"); is_set(order)) {
    result.options.action_order = read_action_order(order);
  }
  result.streams = read_stream_settings(root);
  std::vector<std::string> unused;
  for (const std::string& key : root.keys()) {
    if (std::ranges::find(kRead, key) == kRead.end()) unused.push_back(key);
  }
  result.exceptions = ExceptionSettings::read(root, unused);
  if (is_set(root.get("decoder"))) result.tunnels = read_tunnel_settings(root, result.options.variables, unused);
  if (!unused.empty()) {
    result.warning = fmt::format("{}: these sections have no effect: {}", file.string(), fmt::join(unused, ", "));
  }
  return result;
}

}  // namespace penumbra::ids
