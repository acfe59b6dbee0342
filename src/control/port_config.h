// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "control/device.h"
#include "penumbra/errors.h"
#include "penumbra/function.h"

namespace penumbra::control {

/// A port as configured.
struct PortConfig {
  PortInfo info;
  Device device;
  Sink sink;                 ///< of a port with a built-in source
  std::string twin;          ///< the host's interface that stands for it (docs/design.md, the words); empty: none
  std::uint16_t queues = 0;  ///< RX queues; 0: one a worker if the device or the software hash allows, else one
  std::map<std::string, std::string> keys;  ///< what is said of it, as ConfigNode::canonical()
  SourceLocation location;                  ///< of the whole port
  SourceLocation device_location;
  SourceLocation sink_location;
  SourceLocation mtu_location;        ///< line 0: the MTU is left out
  SourceLocation addresses_location;  ///< line 0: there are none
  SourceLocation twin_location;       ///< line 0: there is none
};

}  // namespace penumbra::control
