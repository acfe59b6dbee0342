// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "control/routes.h"

namespace penumbra::cli {

/// {"type": "unicast", "next_hops": [{"via": "192.0.2.1", "dev": "wan", "weight": 1}]}, or the type alone.
nlohmann::ordered_json to_json(const control::RouteTarget& target);

}  // namespace penumbra::cli
