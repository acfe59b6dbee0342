// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"

namespace penumbra::control::rules {

/// The ports of OpenFlow 1.0 (section 5.2.1) that stand for something else than a port; real ones are below.
inline constexpr std::uint16_t kFirstReservedPort = 0xFF00;
inline constexpr std::uint16_t kInPort = 0xFFF8, kTablePort = 0xFFF9, kNormalPort = 0xFFFA, kFloodPort = 0xFFFB,
                               kAllPorts = 0xFFFC, kControllerPort = 0xFFFD, kLocalPort = 0xFFFE, kNoPort = 0xFFFF;

/// One action of OpenFlow 1.0 (section 5.2.4).
struct FlowAction {
  enum class Kind : std::uint8_t {
    output,   ///< `value` is the port, `more` how many bytes kControllerPort gets
    enqueue,  ///< `value` is the port, `more` the queue
    set_vlan,
    set_vlan_priority,
    strip_vlan,
    set_source_mac,
    set_destination_mac,
    set_source,  ///< the address of IPv4
    set_destination,
    set_tos,
    set_source_port,
    set_destination_port
  };
  Kind kind = Kind::output;
  std::uint64_t value = 0;
  std::uint32_t more = 0;

  bool operator==(const FlowAction&) const = default;
};

/// In the order in which they are carried out. None: the packet is dropped.
using FlowActions = std::vector<FlowAction>;

/// Reads what stands behind `actions=`, a part of the line. Throws InputError.
FlowActions parse_flow_actions(const Line& line, std::string_view text);
/// What parse_flow_actions() reads back as the same, as ovs-ofctl writes it.
std::string to_string(const FlowActions& actions);

/// A port by its number or, in capitals or not, its reserved name.
std::optional<std::uint16_t> parse_flow_port(std::string_view word);
/// The name of a reserved port, the number of another.
std::string flow_port_text(std::uint16_t port);

}  // namespace penumbra::control::rules
