// SPDX-License-Identifier: Apache-2.0
#include "functions/megaflows/settings.h"

#include <array>

#include "control/control_socket.h"
#include "functions/rule_list/exact_cache.h"

namespace penumbra::megaflows {

Settings read_settings(const ConfigNode& config) {
  constexpr std::array kMisses{"punt", "drop"};
  constexpr std::array kSearches{"bloom", "tuple"};
  Settings settings;
  settings.socket = control::default_socket().parent_path() / "megaflows.sock";
  if (config.is_null()) return settings;
  config.require_map({"socket", "miss", "shader", "max_megaflows", "cache", "engine"});
  if (const ConfigNode node = config.get("socket"); node.present()) settings.socket = node.path();
  settings.punts_misses = config.get("miss").one_of(kMisses) == kMisses[0];
  if (config.get("shader").one_of(kSearches) == kSearches[1]) settings.search = TupleRules::Search::tuple;
  if (const ConfigNode node = config.get("max_megaflows"); node.present()) {
    settings.most = static_cast<std::size_t>(node.integer(1, Settings::kMost));
  }
  if (const ConfigNode node = config.get("cache"); node.present()) {
    settings.cache = static_cast<std::size_t>(node.integer(0, rule_list::kMostCacheEntries));
  }
  return settings;
}

std::vector<std::string> differences(const Settings& before, const Settings& after, const ConfigNode& config) {
  const auto require_same = [&](bool is_same, const char* key) {
    if (is_same) return;
    const ConfigNode node = config.is_map() ? config.get(key) : config;
    throw(node.present() ? node : config).error(std::string("another `") + key + "` takes a restart");
  };
  // A running router has its configuration under another name of the folder than the program's command line.
  const auto place = [](const Settings& settings) { return absolute(settings.socket).lexically_normal(); };
  require_same(place(before) == place(after), "socket");
  require_same(before.search == after.search, "shader");
  require_same(before.most == after.most, "max_megaflows");
  require_same(before.cache == after.cache, "cache");
  if (before.punts_misses == after.punts_misses) return {};
  return {std::string("misses: ") + (after.punts_misses ? "punt, was drop" : "drop, was punt")};
}

}  // namespace penumbra::megaflows
