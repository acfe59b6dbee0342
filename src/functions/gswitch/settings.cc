// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "control/config_lines.h"
#include "control/rules/flow_action.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/places.h"
#include "functions/rule_list/exact_cache.h"
#include "penumbra/errors.h"

namespace penumbra::gswitch {
namespace {

/// Returns why no packet matches, or "" if packets can match. A flow matches no packet if `in_port` is not a port of
/// the router.
std::string why_unmatched(const RuleMatch& match, std::size_t router_ports) {
  if (control::rules::openflow::kInPort.get(match.mask) == 0) return "";
  const std::uint64_t port = control::rules::openflow::kInPort.get(match.value);
  if (port >= 1 && port <= router_ports) return "";
  if (port == control::rules::kLocalPort) return "what the host sends does not come here";
  return fmt::format("there is no port {}: the router's are 1 to {}, in the order of its configuration", port,
                     router_ports);
}

/// Returns warnings about flows that no packet can match, a few lines at most.
std::vector<std::string> warnings_of(const std::vector<FlowEntry>& entries, const ConfigNode& table,
                                     std::size_t router_ports) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> warnings;
  if (router_ports == 0) return warnings;  // commands may add ports
  for (const FlowEntry& entry : entries) {
    const std::string why = why_unmatched(entry.match, router_ports);
    if (why.empty()) continue;
    warnings.emplace_back(
        control::error_at(table, static_cast<int>(entry.line), "no packet matches this flow: " + why).what());
    if (warnings.size() == kMost) break;
  }
  return warnings;
}

}  // namespace

std::vector<FlowEntry> parse_entries(std::string_view text, const std::string& name, std::size_t router_ports) {
  const control::rules::FlowList flows = control::rules::parse_flows(text, name);
  std::vector<std::shared_ptr<const CompiledActions>> plans(flows.action_lists.size());
  std::vector<FlowEntry> entries;
  entries.reserve(flows.list.rules.size() + 1);
  for (std::size_t i = 0; i < flows.list.rules.size(); ++i) {
    const std::uint32_t line = flows.list.lines[i];
    std::shared_ptr<const CompiledActions>& actions = plans[flows.actions[i]];
    try {
      if (!actions)
        actions =
            std::make_shared<CompiledActions>(compile_actions(flows.action_lists[flows.actions[i]], router_ports));
    } catch (const std::invalid_argument& error) {
      throw InputError({.file = name, .line = static_cast<int>(line)}, error.what());
    }
    const Rule& rule = flows.list.rules[i];
    entries.push_back({.match = rule.match, .priority = rule.priority, .line = line, .actions = actions});
  }
  std::ranges::stable_sort(entries, std::ranges::greater{}, &FlowEntry::priority);
  return entries;
}

std::string text_of(const FlowEntry& entry) {
  if (entry.line == 0) return entry.actions->text;
  const std::string match = control::rules::flow_match_text(entry.match);
  return fmt::format("priority={}{}{} actions={}", entry.priority, match.empty() ? "" : ",", match,
                     entry.actions->text);
}

Settings read_settings(const ConfigNode& config, std::size_t router_ports) {
  config.require_map({"flows", "miss", "shader", "cache", "engine"});
  constexpr std::array kMisses{"drop", "punt", "flood"};
  const std::string miss = config.get("miss").one_of(kMisses);
  Settings settings{.structure = rule_list::Structure(config), .entries = {}, .warnings = {}};
  if (const ConfigNode node = config.get("cache"); node.present()) {
    settings.cache = static_cast<std::size_t>(node.integer(0, rule_list::kMostCacheEntries));
  }
  const ConfigNode flows = config.at("flows");
  settings.entries = control::parse_config_lines(
      flows, [router_ports](const auto& text, const auto& name) { return parse_entries(text, name, router_ports); });
  settings.warnings = warnings_of(settings.entries, flows, router_ports);
  const auto place = static_cast<Miss>(std::ranges::find(kMisses, miss) - kMisses.begin());
  settings.entries.push_back({.match = {},
                              .priority = 0,
                              .line = 0,
                              .actions = std::make_shared<CompiledActions>(compile_actions(place, router_ports))});
  return settings;
}

}  // namespace penumbra::gswitch
