// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "control/device.h"
#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {

/// Holds the configuration of a port.
struct PortConfig {
  PortInfo info;
  Device device;
  Sink sink;         ///< For a port with a built-in source.
  std::string twin;  ///< The host interface that represents the port ("twin" in docs/design.md); empty: none.
  /// RX queues; 0: one for each worker if the device or the software hash can distribute packets, otherwise one.
  std::uint16_t queues = 0;
  /// Packets that functions may hold: room for them is in the packet pool. The router sets it before the ports open.
  std::uint32_t held_packets = 0;
  std::map<std::string, std::string> keys;  ///< The port's keys with their values as ConfigNode::canonical().
  SourceLocation location;                  ///< Place of the whole port.
  SourceLocation device_location;
  SourceLocation sink_location;
  SourceLocation mtu_location;        ///< line 0: the MTU is left out
  SourceLocation addresses_location;  ///< line 0: there are none
  SourceLocation twin_location;       ///< line 0: there is none
};

}  // namespace penumbra::control
