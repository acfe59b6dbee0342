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

/// The fields that the keys of a table have: OpenFlow 1.0's 12, or all of base/packet_fields.h.
enum class Fields : std::uint8_t { openflow10, all };

/// Represents a flow of the table. The table lists flows in the order in which they are checked.
struct FlowEntry {
  SparseMatch match;
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
  Fields fields = Fields::openflow10;
  std::vector<FlowEntry>
      entries;  ///< sorted by falling priority, and by line for equal priorities; the last entry is for a miss
  std::vector<std::string> warnings;
  std::size_t cache = 16'384;  ///< entries of each worker's exact cache; 0: no cache
};

/// Returns the flows sorted by falling priority, without the entry for a miss. Throws InputError with the place in the
/// text, also for a flow with other fields than `fields`.
std::vector<FlowEntry> parse_entries(std::string_view text, const std::string& name, std::size_t router_ports,
                                     Fields fields);
/// Reads `{flows: FILE, miss: drop|punt|flood, fields: auto|openflow10|all, shader: NAME|auto, cache: N}` for a router
/// with `router_ports` ports. Chooses the fields and the structure. Throws InputError, and std::length_error if no
/// structure can hold the flows.
Settings read_settings(const ConfigNode& config, std::size_t router_ports);

}  // namespace penumbra::gswitch
