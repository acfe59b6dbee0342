// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/suricata_yaml.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {
namespace {

/// Returns a single value or a list as the text of a rule's header.
std::string value_of(const ConfigNode& node) {
  if (!node.is_list()) return node.text();
  std::string list;
  for (const ConfigNode& member : node.list()) list += (list.empty() ? "" : ",") + member.text();
  return "[" + list + "]";
}

void read_group(const ConfigNode& vars, const char* name, std::map<std::string, std::string, std::less<>>& group) {
  const ConfigNode node = vars.get(name);
  if (!node.present() || node.is_null()) return;
  for (const std::string& key : node.keys()) {
    const ConfigNode value = node.get(key);
    if (!value.is_null()) group.insert_or_assign(key, value_of(value));
  }
}

void add_file(const ConfigNode& root, const char* key, std::vector<std::filesystem::path>& files) {
  const ConfigNode node = root.get(key);
  if (node.present() && !node.is_null()) files.push_back(node.path());
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
  if (!files.present() || files.is_null()) return;
  const ConfigNode folder = root.get("default-rule-path");
  for (const ConfigNode& file : files.list()) {
    const std::filesystem::path name = file.text();
    const bool in_folder = name.is_relative() && folder.present() && !folder.is_null();
    const std::filesystem::path path = in_folder ? folder.path() / name : file.path();
    if (name.string().find_first_of("*?[") == std::string::npos) {
      rules.push_back(path);
    } else {
      add_matching(file, path, rules);
    }
  }
}

constexpr std::array kRead = std::to_array<std::string_view>(
    {"vars", "rule-files", "default-rule-path", "classification-file", "reference-config-file", "threshold-file",
     "suricata-version", "stream", "host-os-policy"});

}  // namespace

SuricataYaml read_suricata_yaml(const std::filesystem::path& file) {
  const ConfigNode root = ConfigNode::load(file);
  SuricataYaml result;
  if (root.is_null()) return result;
  const ConfigNode vars = root.get("vars");
  if (vars.present() && !vars.is_null()) {
    if (!vars.is_map()) throw vars.error("found " + quote(vars.canonical()) + ", needs address-groups and port-groups");
    read_group(vars, "address-groups", result.options.variables.addresses);
    read_group(vars, "port-groups", result.options.variables.ports);
  }
  add_file(root, "classification-file", result.options.classifications);
  add_file(root, "reference-config-file", result.options.references);
  add_file(root, "threshold-file", result.options.thresholds);
  read_rule_files(root, result.options.rules);
  result.streams = read_stream_settings(root);
  std::string unused;
  for (const std::string& key : root.keys()) {
    if (std::ranges::find(kRead, key) == kRead.end()) unused += (unused.empty() ? "" : ", ") + key;
  }
  if (!unused.empty()) result.warning = file.string() + ": these sections have no effect: " + unused;
  return result;
}

}  // namespace penumbra::ids
