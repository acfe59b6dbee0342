// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "control/rules/flow_syntax.h"
#include "penumbra/errors.h"

namespace penumbra::gswitch {
namespace {

std::vector<FlowEntry> read_entries(const std::filesystem::path& file, std::size_t router_ports) {
  const control::rules::FlowList flows = control::rules::read_flows(file);
  std::vector<std::shared_ptr<const Plan>> plans(flows.action_lists.size());
  std::vector<FlowEntry> entries;
  entries.reserve(flows.list.rules.size() + 1);
  for (std::size_t i = 0; i < flows.list.rules.size(); ++i) {
    const std::uint32_t line = flows.list.lines[i];
    std::shared_ptr<const Plan>& plan = plans[flows.actions[i]];
    try {
      if (!plan) plan = std::make_shared<Plan>(plan_of(flows.action_lists[flows.actions[i]], router_ports));
    } catch (const std::invalid_argument& error) {
      throw InputError({.file = file.string(), .line = static_cast<int>(line)}, error.what());
    }
    const Rule& rule = flows.list.rules[i];
    entries.push_back({.match = rule.match, .priority = rule.priority, .line = line, .plan = plan});
  }
  std::ranges::stable_sort(entries, std::ranges::greater{}, &FlowEntry::priority);
  return entries;
}

}  // namespace

std::string text_of(const FlowEntry& entry) {
  if (entry.line == 0) return entry.plan->text;
  const std::string match = control::rules::flow_match_text(entry.match);
  return fmt::format("priority={}{}{} actions={}", entry.priority, match.empty() ? "" : ",", match, entry.plan->text);
}

Settings read_settings(const ConfigNode& config, std::size_t router_ports) {
  config.require_map({"flows", "miss", "shader", "engine"});
  constexpr std::array kMisses{"drop", "punt", "flood"};
  const std::string miss = config.get("miss").one_of(kMisses);
  Settings settings{.structure = rule_list::Structure(config), .entries = {}};
  settings.entries = read_entries(config.at("flows").path(), router_ports);
  const auto place = static_cast<Miss>(std::ranges::find(kMisses, miss) - kMisses.begin());
  settings.entries.push_back(
      {.match = {}, .priority = 0, .line = 0, .plan = std::make_shared<Plan>(plan_of(place, router_ports))});
  return settings;
}

}  // namespace penumbra::gswitch
