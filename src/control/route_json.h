// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "control/routes.h"

namespace penumbra::control {

/// Returns [{"via": "192.0.2.1", "dev": "wan", "weight": 1}]. An on-link next hop has no "via".
template <class Family>
nlohmann::ordered_json to_json(const std::vector<NextHopOf<Family>>& next_hops);
/// Returns {"type": "unicast", "next_hops": [...]}, or the type alone.
template <class Family>
nlohmann::ordered_json to_json(const RouteTargetOf<Family>& target);

}  // namespace penumbra::control
