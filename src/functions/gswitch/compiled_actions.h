// SPDX-License-Identifier: Apache-2.0
//
// What is done with the packets of a flow: its actions, put in the order in which a worker carries them out.
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

/// What becomes of packets that no flow matches.
enum class Miss : std::uint8_t { drop, punt, flood };

struct CompiledActions {
  enum class Kind : std::uint8_t {
    drop,
    miss_dropped,
    miss_punted,
    to_controller,
    to_local,
    in_port,  ///< back where it came from
    output    ///< by the ports of `variants`, but for the one that it came from
  };
  /// Ports that get the packet with the same header.
  struct HeaderVariant {
    std::vector<control::rules::FlowAction> sets;  ///< what is set after the variant before it
    std::vector<std::uint16_t> ports;              ///< indices, none twice; by falling MTU
  };

  Kind kind = Kind::drop;
  std::array<HeaderVariant, 2> variants;  ///< of other kinds than `output` the first one's fields are set
  std::string text;                       ///< the actions as ovs-ofctl writes them

  /// Of variant `index`, without where the packet came from: how many ports take `payload_bytes` behind the Ethernet
  /// header, and all of them.
  struct OutputPorts {
    std::span<const std::uint16_t> ports;  ///< where the packet came from may be among them
    std::uint16_t count;                   ///< without that one
    std::uint16_t too_short;               ///< how many others have a shorter MTU
  };
  OutputPorts output_ports(std::size_t index, std::uint32_t payload_bytes, std::uint16_t rx_port,
                           std::span<const PortInfo> router_ports) const noexcept;
  /// Sorts ports by their MTUs.
  void sort(std::span<const PortInfo> router_ports);
};

/// The actions of a flow in a router with so many ports, whose numbers begin at 1. Throws std::invalid_argument for
/// those that cannot be carried out.
CompiledActions compile_actions(const control::rules::FlowActions& actions, std::size_t router_ports);
CompiledActions compile_actions(Miss miss, std::size_t router_ports);

}  // namespace penumbra::gswitch
