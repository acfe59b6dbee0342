// SPDX-License-Identifier: Apache-2.0
#include "control/route_json.h"

#include <nlohmann/json.hpp>

namespace penumbra::control {

nlohmann::ordered_json to_json(std::span<const NextHop> next_hops) {
  auto hops = nlohmann::ordered_json::array();
  for (const auto& hop : next_hops) {
    nlohmann::ordered_json entry;
    if (hop.gateway) entry["via"] = penumbra::to_string(*hop.gateway);
    entry["dev"] = hop.port;
    entry["weight"] = hop.weight;
    hops.push_back(std::move(entry));
  }
  return hops;
}

nlohmann::ordered_json to_json(const RouteTarget& target) {
  if (target.kind != RouteTarget::Kind::unicast) return {{"type", to_string(target)}};
  return {{"type", "unicast"}, {"next_hops", to_json(target.next_hops)}};
}

}  // namespace penumbra::control
