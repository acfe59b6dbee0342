// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/port_config.h"

namespace penumbra::io {

/// What this machine has, or lacks, that does not go with the ports' devices and twins: one line each, with the place
/// and what to do. Opens no device.
std::vector<std::string> port_warnings(std::span<const control::PortConfig> configs);

}  // namespace penumbra::io
