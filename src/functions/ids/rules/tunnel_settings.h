// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "functions/ids/rules/address_set.h"
#include "penumbra/config_node.h"

namespace penumbra::ids {

/// The kinds of tunnels whose packets are inspected, too.
struct TunnelSettings {
  /// The registered ports (IANA) unless a configuration has others.
  static PortSet port(std::uint16_t number) { return PortSet::of(number, number); }

  bool ip_in_ip = true;
  PortSet teredo = port(3544), vxlan = port(4789), geneve = port(6081);
};

/// Reads the section "decoder" of a configuration of Suricata, which is there. Adds the names of keys that have no
/// effect to `unused`. Throws InputError.
TunnelSettings read_tunnel_settings(const ConfigNode& root, const Variables& variables,
                                    std::vector<std::string>& unused);

}  // namespace penumbra::ids
