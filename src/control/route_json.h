// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "control/routes.h"

namespace penumbra::control {

/// [{"via": "192.0.2.1", "dev": "wan", "weight": 1}]; without "via" where the destination itself is on the link.
nlohmann::ordered_json to_json(std::span<const NextHop> next_hops);
/// {"type": "unicast", "next_hops": [...]}, or the type alone.
nlohmann::ordered_json to_json(const RouteTarget& target);

}  // namespace penumbra::control
