// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/route_oracle.h"

#include <algorithm>

namespace penumbra::cli::verify {

template <class Rules>
RouteOracle<Rules>::RouteOracle(const std::vector<PortInfo>& ports, const control::RouteListOf<Family>& routes,
                                const std::vector<control::NeighbourOf<Family>>& neighbours, bool forwards_link_local)
    : forwards_link_local_(forwards_link_local), targets_(routes.targets) {
  for (const auto& route : routes.routes) {
    const auto known = routes_.find(route.prefix);
    if (!known || route.metric < known->metric) routes_.insert(route);
  }
  for (const auto& port : ports) {
    port_by_name_[port.name] = port.index;
    mtu_by_port_.push_back(port.mtu);
    for (const auto& [own, network] : port.template addresses_of<Family>()) {
      own_addresses_.insert(own);
      connected_.push_back(network);
      targets_.push_back({control::RouteKind::unicast, {{std::nullopt, port.name, 1}}});
      routes_.insert({network, 0, static_cast<std::uint32_t>(targets_.size() - 1)});
    }
  }
  for (const auto& neighbour : neighbours) {
    neighbours_[{port_by_name_.at(neighbour.port), neighbour.address}] = neighbour.mac.value;
  }
}

template <class Rules>
std::string RouteOracle<Rules>::reason_on_links(Address destination) const {
  if (own_addresses_.contains(destination)) return "local";
  for (const Prefix& network : connected_) {
    const std::string reason = Rules::edge(network, destination);
    if (!reason.empty()) return reason;
  }
  return "";
}

template <class Rules>
Expectation RouteOracle<Rules>::judge(Frame packet) const {
  const Address destination = Rules::destination(packet);
  const std::string reason = reason_on_links(destination);
  if (!reason.empty()) return {reason, {}};
  if (!forwards_link_local_ && Rules::is_link_local(packet)) return {"link_local", {}};
  const auto route = routes_.match(destination);
  if (!route) return {"no_route", {}};
  const RouteTarget& target = targets_[route->target];
  if (target.kind == control::RouteKind::blackhole) return {"blackhole", {}};
  if (target.kind == control::RouteKind::unreachable) return {"unreachable", {}};
  const auto is_by_host = [](const auto& hop) { return hop.inet6_gateway.has_value(); };
  if (std::ranges::all_of(target.next_hops, is_by_host)) return {"via_host", {}};
  if (Rules::hops_left(packet) <= 1) return {Rules::kHopsUsedUp, {}};
  return ways(target, destination, Rules::bytes(packet));
}

template <class Rules>
Expectation RouteOracle<Rules>::ways(const RouteTarget& target, Address destination, unsigned ip_bytes) const {
  Expectation expectation;
  bool all_unknown = true;
  for (const auto& hop : target.next_hops) {
    const std::uint16_t port = port_by_name_.at(hop.port);
    const auto neighbour = neighbours_.find({port, hop.gateway.value_or(destination)});
    const bool unknown = hop.inet6_gateway || neighbour == neighbours_.end();
    const std::uint64_t mac = unknown ? 0 : neighbour->second;
    expectation.ways.push_back({port, mac, mtu_by_port_[port]});
    all_unknown = all_unknown && mac == 0;
  }
  auto& found = expectation.ways;
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  if (std::ranges::none_of(found, [&](const Way& way) { return way.carries(ip_bytes); })) {
    return {all_unknown ? "unknown_neighbour" : Rules::kTooLong, {}};
  }
  return expectation;
}

template class RouteOracle<Ipv4Rules>;
template class RouteOracle<Ipv6Rules>;

}  // namespace penumbra::cli::verify
