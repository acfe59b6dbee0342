// SPDX-License-Identifier: Apache-2.0
#include "functions/gswitch/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>

#include "base/packet_fields.h"
#include "control/config_lines.h"
#include "control/rules/flow_action.h"
#include "control/rules/flow_syntax.h"
#include "control/rules/openflow10.h"
#include "functions/rule_list/exact_cache.h"
#include "penumbra/errors.h"

namespace penumbra::gswitch {
namespace {

/// Returns why no packet matches, or "" if packets can match. A flow matches no packet if `in_port` is not a port of
/// the router.
std::string why_unmatched(const SparseMatch& match, std::size_t router_ports) {
  using packet_fields::Field;
  if (get(match.mask, Field::in_port).low == 0) return "";
  const std::uint64_t port = get(match.value, Field::in_port).low;
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

/// Chooses how the flows are searched.
void choose_structure(Settings& settings, const ConfigNode& config) {
  if (settings.fields == Fields::openflow10) {
    const auto match_of = [](const FlowEntry& entry) { return control::rules::openflow10(entry.match).value(); };
    settings.structure.choose<FlowEntry>(RuleFields::openflow, settings.entries, std::random_device{}(), match_of);
    return;
  }
  settings.structure.choose("bloom");
  const std::string& name = settings.structure.name();
  if (name == "bloom" || name == "tuple") return;
  throw config.get("shader").error("only `bloom` and `tuple` search fields that OpenFlow 1.0 does not have, not " +
                                   quote(name));
}

}  // namespace

std::vector<FlowEntry> parse_entries(std::string_view text, const std::string& name, std::size_t router_ports,
                                     Fields fields) {
  const control::rules::FlowList flows = control::rules::parse_flows(text, name);
  std::vector<std::shared_ptr<const CompiledActions>> plans(flows.action_lists.size());
  std::vector<FlowEntry> entries;
  entries.reserve(flows.flows.size() + 1);
  for (const control::rules::Flow& flow : flows.flows) {
    const auto error = [&](const std::string& message) {
      return InputError({.file = name, .line = static_cast<int>(flow.line)}, message);
    };
    std::shared_ptr<const CompiledActions>& actions = plans[flow.actions];
    try {
      if (!actions) {
        actions = std::make_shared<CompiledActions>(compile_actions(flows.action_lists[flow.actions], router_ports));
      }
    } catch (const std::invalid_argument& refusal) {
      throw error(refusal.what());
    }
    if (fields == Fields::openflow10 && !control::rules::openflow10(flow.match)) {
      throw error(
          "the flow matches fields that OpenFlow 1.0 does not have, and the table has no others; "
          "`fields: all` allows them and takes a restart");
    }
    entries.push_back({.match = flow.match, .priority = flow.priority, .line = flow.line, .actions = actions});
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
  config.require_map({"flows", "miss", "fields", "shader", "cache", "engine"});
  constexpr std::array kFields{"auto", "openflow10", "all"};
  constexpr std::array kMisses{"drop", "punt", "flood"};
  const std::string miss = config.get("miss").one_of(kMisses);
  Settings settings{.structure = rule_list::Structure(config), .entries = {}, .warnings = {}};
  if (const ConfigNode node = config.get("cache"); node.present()) {
    settings.cache = static_cast<std::size_t>(node.integer(0, rule_list::kMostCacheEntries));
  }
  const ConfigNode flows = config.at("flows");
  const std::string fields = config.get("fields").one_of(kFields);
  const Fields permitted = fields == kFields[1] ? Fields::openflow10 : Fields::all;
  settings.entries = control::parse_config_lines(
      flows, [&](const auto& text, const auto& name) { return parse_entries(text, name, router_ports, permitted); });
  const auto has_others = [](const FlowEntry& entry) { return !control::rules::openflow10(entry.match); };
  if (fields == kFields[2] || std::ranges::any_of(settings.entries, has_others)) settings.fields = Fields::all;
  settings.warnings = warnings_of(settings.entries, flows, router_ports);
  choose_structure(settings, config);
  const auto place = static_cast<Miss>(std::ranges::find(kMisses, miss) - kMisses.begin());
  settings.entries.push_back({.match = {},
                              .priority = 0,
                              .line = 0,
                              .actions = std::make_shared<CompiledActions>(compile_actions(place, router_ports))});
  return settings;
}

}  // namespace penumbra::gswitch
