// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/settings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "control/config_lines.h"

namespace penumbra::acl {
namespace {

constexpr std::array<const char*, 3> kFamilies{"both", "ipv4", "ipv6"};

}  // namespace

const char* name_of(Family family) {
  return kFamilies[static_cast<std::size_t>(family)];
}

Settings read_settings(const ConfigNode& config) {
  config.require_map({"rules", "default", "family", "fragments", "extension_headers", "shader", "engine"});
  const std::string family = config.get("family").one_of(kFamilies);
  const std::string otherwise = config.get("default").one_of(std::array{"deny", "permit"});
  Parsing parsing{.drops_fragments = config.get("fragments").one_of(std::array{"entries", "drop"}) == "drop"};
  if (const ConfigNode node = config.get("extension_headers"); node.present()) {
    parsing.extension_headers = static_cast<std::uint8_t>(node.integer(0, Ipv6Chain::kMostHeaders));
  }
  Settings settings{.family = static_cast<Family>(std::ranges::find(kFamilies, family) - kFamilies.begin()),
                    .parsing = parsing,
                    .structure = rule_list::Structure(config),
                    .entries = {}};
  settings.entries = control::parse_config_lines(config.at("rules"), [&settings](const auto& text, const auto& name) {
    return parse_entries(text, name, settings.family);
  });
  settings.entries.push_back(
      {.permits = otherwise == "permit", .match = {}, .text = otherwise + " (default)", .line = 0});
  return settings;
}

}  // namespace penumbra::acl
