// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "functions/gswitch/compiled_actions.h"
#include "functions/rule_list/structure.h"
#include "penumbra/config_node.h"
#include "penumbra/rule.h"

namespace penumbra::gswitch {

/// A flow of the table, in the order in which they decide.
struct FlowEntry {
  RuleMatch match;             ///< normalised, of RuleFields::openflow
  std::uint16_t priority = 0;  ///< of what is done on a miss 0
  std::uint32_t line = 0;      ///< in the file; 0: of what is done on a miss
  std::shared_ptr<const CompiledActions> actions;

  /// Whether they do the same.
  bool is_like(const FlowEntry& other) const {
    return priority == other.priority && match == other.match && actions->text == other.actions->text;
  }
};
/// As ovs-ofctl writes it.
std::string text_of(const FlowEntry& entry);

/// The configuration of a table.
struct Settings {
  rule_list::Structure structure;
  std::vector<FlowEntry> entries;  ///< by falling priority, the file's order among equal ones; last comes the miss
  std::vector<std::string> warnings;
};

/// Flows by falling priority, without what is done on a miss. Throws InputError with the place in the text.
std::vector<FlowEntry> parse_entries(std::string_view text, const std::string& name, std::size_t router_ports);
/// Reads `{flows: FILE, miss: drop|punt|flood, shader: NAME|auto}` for a router with so many ports. Throws InputError.
Settings read_settings(const ConfigNode& config, std::size_t router_ports);

}  // namespace penumbra::gswitch
