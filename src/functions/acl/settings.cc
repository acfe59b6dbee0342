// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/settings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace penumbra::acl {
namespace {

constexpr std::array<const char*, 3> kFamilies{"both", "ipv4", "ipv6"};

}  // namespace

const char* name_of(Family family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

Settings read_settings(const ConfigNode& config) {
  config.require_map({"rules", "default", "family", "shader", "engine"});
  const std::string family = config.get("family").one_of(kFamilies);
  const std::string otherwise = config.get("default").one_of(std::array{"deny", "permit"});
  Settings settings{.family = static_cast<Family>(std::ranges::find(kFamilies, family) - kFamilies.begin()),
                    .structure = rule_list::Structure(config),
                    .entries = {}};
  settings.entries = read_entries(config.at("rules").path(), settings.family);
  settings.entries.push_back(
      {.permits = otherwise == "permit", .match = {}, .text = otherwise + " (default)", .line = 0});
  return settings;
}

}  // namespace penumbra::acl
