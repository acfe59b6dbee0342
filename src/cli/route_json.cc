// SPDX-License-Identifier: Apache-2.0
#include "cli/route_json.h"

namespace penumbra::cli {

nlohmann::ordered_json to_json(const control::RouteTarget& target) {
  if (target.kind != control::RouteTarget::Kind::unicast) return {{"type", control::to_string(target)}};
  auto hops = nlohmann::ordered_json::array();
  for (const auto& hop : target.next_hops) {
    nlohmann::ordered_json entry;
    if (hop.gateway) entry["via"] = to_string(*hop.gateway);
    entry["dev"] = hop.port;
    entry["weight"] = hop.weight;
    hops.push_back(entry);
  }
  return {{"type", "unicast"}, {"next_hops", hops}};
}

}  // namespace penumbra::cli
