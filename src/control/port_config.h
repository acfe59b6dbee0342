// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  SourceLocation location;   ///< of the whole port
  SourceLocation device_location;
  SourceLocation sink_location;
};

}  // namespace penumbra::control
