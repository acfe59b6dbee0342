// SPDX-License-Identifier: Apache-2.0
#include "control/route_json.h"

#include <nlohmann/json.hpp>

namespace penumbra::control {

template <class Family>
nlohmann::ordered_json to_json(const std::vector<NextHopOf<Family>>& next_hops) {
  auto hops = nlohmann::ordered_json::array();
  for (const auto& hop : next_hops) {
    nlohmann::ordered_json entry;
    if (hop.gateway) entry["via"] = penumbra::to_string(*hop.gateway);
    if (hop.inet6_gateway) entry["via"] = penumbra::to_string(*hop.inet6_gateway);
    entry["dev"] = hop.port;
    entry["weight"] = hop.weight;
    if (hop.inet6_gateway) entry["host"] = true;
    hops.push_back(std::move(entry));
  }
  return hops;
}

template <class Family>
nlohmann::ordered_json to_json(const RouteTargetOf<Family>& target) {
  if (target.kind != RouteKind::unicast) return {{"type", to_string(target)}};
  return {{"type", "unicast"}, {"next_hops", to_json(target.next_hops)}};
}

template nlohmann::ordered_json to_json(const std::vector<NextHopOf<Ipv4>>&);
template nlohmann::ordered_json to_json(const std::vector<NextHopOf<Ipv6>>&);
template nlohmann::ordered_json to_json(const RouteTargetOf<Ipv4>&);
template nlohmann::ordered_json to_json(const RouteTargetOf<Ipv6>&);

}  // namespace penumbra::control
