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

/// Represents a flow of the table. The table lists flows in the order in which they are checked.
struct FlowEntry {
  RuleMatch match;             ///< normalised for RuleFields::openflow
  std::uint16_t priority = 0;  ///< 0 for the entry for a miss
  std::uint32_t line = 0;      ///< line in the file; 0 for the entry for a miss
  std::shared_ptr<const CompiledActions> actions;

  /// True if both entries match the same packets with the same priority and actions.
  bool is_like(const FlowEntry& other) const {
    return priority == other.priority && match == other.match && actions->text == other.actions->text;
  }
};
/// Returns the entry in the syntax of ovs-ofctl.
std::string text_of(const FlowEntry& entry);

/// Holds the configuration of a table.
struct Settings {
  rule_list::Structure structure;
  std::vector<FlowEntry>
      entries;  ///< sorted by falling priority, and by line for equal priorities; the last entry is for a miss
  std::vector<std::string> warnings;
  std::size_t cache = 16'384;  ///< entries of each worker's exact cache; 0: no cache
};

/// Returns the flows sorted by falling priority, without the entry for a miss. Throws InputError with the place in the
/// text.
std::vector<FlowEntry> parse_entries(std::string_view text, const std::string& name, std::size_t router_ports);
/// Reads `{flows: FILE, miss: drop|punt|flood, shader: NAME|auto, cache: N}` for a router with `router_ports` ports.
/// Throws InputError.
Settings read_settings(const ConfigNode& config, std::size_t router_ports);

}  // namespace penumbra::gswitch
