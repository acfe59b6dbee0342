// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/line_reader.h"

namespace penumbra::control::rules {

/// These are the reserved port numbers of OpenFlow 1.0 (section 5.2.1). Real ports have lower numbers.
inline constexpr std::uint16_t kFirstReservedPort = 0xFF00;
inline constexpr std::uint16_t kInPort = 0xFFF8, kTablePort = 0xFFF9, kNormalPort = 0xFFFA, kFloodPort = 0xFFFB,
                               kAllPorts = 0xFFFC, kControllerPort = 0xFFFD, kLocalPort = 0xFFFE, kNoPort = 0xFFFF;

/// Describes one action of OpenFlow 1.0 (section 5.2.4).
struct FlowAction {
  enum class Kind : std::uint8_t {
    output,   ///< `value` is the port, `more` the maximum of bytes sent to kControllerPort.
    enqueue,  ///< `value` is the port, `more` the queue.
    set_vlan,
    set_vlan_priority,
    strip_vlan,
    set_source_mac,
    set_destination_mac,
    set_source,  ///< The IPv4 address.
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

/// Lists actions in the order of their execution. An empty list drops the packet.
using FlowActions = std::vector<FlowAction>;

/// Parses the text after `actions=`, which must be a part of the line. Throws InputError.
FlowActions parse_flow_actions(const Line& line, std::string_view text);
/// Returns the actions in ovs-ofctl's form, which parse_flow_actions() reads back unchanged.
std::string to_string(const FlowActions& actions);

/// Parses a port's number or its reserved name in either case.
std::optional<std::uint16_t> parse_flow_port(std::string_view word);
/// Returns the name of a reserved port or the number of another port.
std::string flow_port_text(std::uint16_t port);

}  // namespace penumbra::control::rules
