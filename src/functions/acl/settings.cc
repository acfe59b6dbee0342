// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "shaders/rules/rule_structures.h"

namespace penumbra::acl {
namespace {

constexpr std::array<const char*, 3> kFamilies{"both", "ipv4", "ipv6"};

/// One of the words; the first one if there is no node.
template <class Words>
std::string one_of(const ConfigNode& node, const Words& words) {
  if (!node.present()) return *words.begin();
  std::string found = node.text();
  if (std::ranges::find(words, found) != words.end()) return found;
  throw node.error("found " + quote(found) + ": " + did_you_mean_or_list(found, words));
}

}  // namespace

const char* name_of(Family family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

Settings read_settings(const ConfigNode& config) {
  config.require_map({"rules", "default", "family", "shader", "engine"});
  Settings settings;
  const std::string family = one_of(config.get("family"), kFamilies);
  settings.family = static_cast<Family>(std::ranges::find(kFamilies, family) - kFamilies.begin());
  std::vector<std::string> structures{"auto"};
  for (const RuleStructure& structure : rule_structures()) structures.push_back(structure.name);
  settings.structure = one_of(config.get("shader"), structures);
  if (settings.structure == structures.front()) settings.structure.clear();
  const std::string otherwise = one_of(config.get("default"), std::array{"deny", "permit"});
  settings.entries = read_entries(config.at("rules").path(), settings.family);
  settings.entries.push_back(
      {.permits = otherwise == "permit", .match = {}, .text = otherwise + " (default)", .line = 0});
  return settings;
}

}  // namespace penumbra::acl
