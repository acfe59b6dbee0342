// SPDX-License-Identifier: Apache-2.0
//
// Compiles the actions of a flow into the order in which a worker executes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "control/rules/flow_action.h"
#include "penumbra/function.h"

namespace penumbra::gswitch {

/// Selects the treatment of packets that no flow matches.
enum class Miss : std::uint8_t { drop, punt, flood };

struct CompiledActions {
  enum class Kind : std::uint8_t {
    drop,
    miss_dropped,
    miss_punted,
    to_controller,
    to_local,
    in_port,  ///< send out of the ingress port
    output    ///< send out of the ports of `variants`, except the ingress port
  };
  /// Holds ports that get the packet with the same header.
  struct HeaderVariant {
    std::vector<control::rules::FlowAction> sets;  ///< fields to set after those of the variant before
    std::vector<std::uint16_t> ports;              ///< indices, each at most once, sorted by falling MTU
  };

  Kind kind = Kind::drop;
  std::array<HeaderVariant, 2> variants;  ///< other kinds than `output` set the fields of the first variant
  std::string text;                       ///< the actions in the syntax of ovs-ofctl

  /// Holds the output ports of variant `index` for a packet with `payload_bytes` after the Ethernet header.
  struct OutputPorts {
    std::span<const std::uint16_t> ports;  ///< ports whose MTU allows the packet, which may include the ingress port
    std::uint16_t count;                   ///< number of ports in `ports` without the ingress port
    std::uint16_t too_short;               ///< number of other ports whose MTU is too short, without the ingress port
  };
  OutputPorts output_ports(std::size_t index, std::uint32_t payload_bytes, std::uint16_t rx_port,
                           std::span<const PortInfo> router_ports) const noexcept;
  /// Sorts the ports by falling MTU.
  void sort(std::span<const PortInfo> router_ports);
};

/// Compiles the actions of a flow for a router with `router_ports` ports, which are numbered from 1. Throws
/// std::invalid_argument for unsupported actions.
CompiledActions compile_actions(const control::rules::FlowActions& actions, std::size_t router_ports);
CompiledActions compile_actions(Miss miss, std::size_t router_ports);

}  // namespace penumbra::gswitch
