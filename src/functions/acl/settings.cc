// SPDX-License-Identifier: Apache-2.0
#include "functions/acl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "control/config_lines.h"
#include "functions/acl/shadowed.h"

namespace penumbra::acl {
namespace {

constexpr std::array<const char*, 3> kFamilies{"both", "ipv4", "ipv6"};

/// Returns warnings about the first entries of `table` that never decide, with advice.
std::vector<std::string> warnings_of(const std::vector<Entry>& entries, RuleFields fields, const ConfigNode& table) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> warnings;
  for (const auto& [place, by] : find_shadowed(entries, fields, kMost)) {
    const Entry &entry = entries[place], &earlier = entries[by];
    const std::string what = fmt::format(
        "{} never decides: {} in line {} matches all its packets; {}", quote(entry.text), quote(earlier.text),
        earlier.line, entry.permits == earlier.permits ? "remove it" : "put it before that line, or remove it");
    warnings.emplace_back(control::error_at(table, static_cast<int>(entry.line), what).what());
  }
  return warnings;
}

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
    parsing.extension_headers = static_cast<std::uint8_t>(node.integer(0, PacketHeaders::kMostExtensions));
  }
  Settings settings{.family = static_cast<Family>(std::ranges::find(kFamilies, family) - kFamilies.begin()),
                    .parsing = parsing,
                    .structure = rule_list::Structure(config),
                    .entries = {},
                    .warnings = {}};
  settings.entries = control::parse_config_lines(config.at("rules"), [&settings](const auto& text, const auto& name) {
    return parse_entries(text, name, settings.family);
  });
  settings.warnings = warnings_of(settings.entries, fields_of(settings.family), config.at("rules"));
  settings.entries.push_back(
      {.permits = otherwise == "permit", .match = {}, .text = otherwise + " (default)", .line = 0});
  return settings;
}

}  // namespace penumbra::acl
