// SPDX-License-Identifier: Apache-2.0
//
// Defines the actions of a megaflow, their text, and their compiled form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/packet_fields.h"
#include "functions/megaflows/meter.h"
#include "penumbra/function.h"

namespace penumbra::megaflows {

using packet_fields::Field;
using packet_fields::Number;

struct Action {
  enum class Kind : std::uint8_t { output = 1, push_vlan = 2, pop_vlan = 3, set_field = 4, meter = 5 };
  Kind kind = Kind::output;
  Field field = Field::eth_src;  ///< of set_field; one that can be set
  std::uint32_t meter = 0;       ///< of meter: its number
  std::uint16_t port = 0;        ///< of output: number of a port, from 1
  std::uint16_t tpid = 0;        ///< of push_vlan: 0x8100 or 0x88A8
  std::uint16_t tci = 0;         ///< of push_vlan: priority, DEI and VLAN
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  Number value = {};  ///< of set_field; only bits of the mask
  Number mask = {};   ///< of set_field
  // NOLINTEND(readability-redundant-member-init)

  bool operator==(const Action&) const = default;
};

/// Returns "set:nw_ttl=63,output:2", or "drop" for no actions.
std::string actions_text(std::span<const Action> actions);
/// Reads what actions_text() returns. Throws std::invalid_argument with the wrong word in quotes.
std::vector<Action> parse_actions(std::string_view text);

/// Holds the actions in the order in which a worker carries them out.
struct CompiledActions {
  /// Holds ports that get the packet with the same header.
  struct HeaderVariant {
    std::vector<Action> sets;          ///< changes after those of the variant before
    std::vector<std::uint16_t> ports;  ///< indices, each at most once, sorted by falling MTU
  };
  std::array<HeaderVariant, 2> variants;       ///< the second has ports only if the first has
  std::vector<Action> actions;                 ///< as they were given
  std::vector<std::shared_ptr<Meter>> meters;  ///< that a packet must pass; compile_actions() leaves it empty
  std::uint16_t down = 0;                      ///< number of outputs that were left out because a port is down

  /// Holds the output ports of a variant for a packet with `payload_bytes` after the Ethernet header and tag.
  struct Outputs {
    std::span<const std::uint16_t> ports;
    std::uint16_t too_short = 0;  ///< number of other ports, whose MTU is too short
  };
  Outputs outputs(std::size_t variant, std::uint32_t payload_bytes, std::span<const PortInfo> ports) const noexcept;
  /// Sorts the ports by falling MTU.
  void sort(std::span<const PortInfo> ports);
};

/// Says by index which ports are down. Ports after the last index are up.
using DownPorts = std::vector<bool>;
constexpr bool is_down(const DownPorts& down, std::size_t port) {
  return port < down.size() && down[port];
}

/// Compiles the actions of a megaflow that matches packets of port `in_port` (a number from 1; 0: of any port). Throws
/// std::invalid_argument for actions that the function cannot carry out: more than two headers, an output to the
/// receive port together with others, two outputs to a port, a meter after an output, and
/// ports that `ports` lacks. Leaves out the
/// outputs to ports that are down, and all outputs if `in_port` is down.
CompiledActions compile_actions(std::span<const Action> actions, std::uint16_t in_port, std::span<const PortInfo> ports,
                                const DownPorts& down = {});

}  // namespace penumbra::megaflows
