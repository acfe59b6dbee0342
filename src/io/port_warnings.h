// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/port_config.h"

namespace penumbra::io {

/// Returns warnings about this machine's support for the ports' devices and twins, one per line, with the place and
/// advice. Opens no device.
std::vector<std::string> port_warnings(std::span<const control::PortConfig> configs);

}  // namespace penumbra::io
