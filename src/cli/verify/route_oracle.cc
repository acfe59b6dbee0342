// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/route_oracle.h"

#include <algorithm>
#include <functional>

namespace penumbra::cli::verify {
namespace {

template <class Number>
Number first_bits_of(Number number, unsigned length) {
  constexpr unsigned kBits = 8 * sizeof(Number);
  return length == 0 ? 0 : number >> (kBits - length) << (kBits - length);
}

Ipv4Address first_bits(Ipv4Address address, unsigned length) {
  return {first_bits_of(address.value, length)};
}
Ipv6Address first_bits(Ipv6Address address, unsigned length) {
  if (length <= 64) return {first_bits_of(address.high, length), 0};
  return {address.high, first_bits_of(address.low, length - 64)};
}

std::size_t hash_of(Ipv4Address address) {
  return std::hash<std::uint32_t>{}(address.value);
}
std::size_t hash_of(Ipv6Address address) {
  return std::hash<std::uint64_t>{}((address.high * 31 + address.low) * 0x9E3779B97F4A7C15U);
}

}  // namespace

template <class Rules>
std::size_t RouteOracle<Rules>::AddressHash::operator()(Address address) const {
  return hash_of(address);
}

template <class Rules>
RouteOracle<Rules>::RouteOracle(const std::vector<PortInfo>& ports, const control::RouteListOf<Family>& routes,
                                const std::vector<control::NeighbourOf<Family>>& neighbours, bool forwards_link_local)
    : forwards_link_local_(forwards_link_local), targets_(routes.targets) {
  for (const auto& route : routes.routes) add(route.prefix, {route.metric, route.target});
  for (const auto& port : ports) {
    port_by_name_[port.name] = port.index;
    mtu_by_port_.push_back(port.mtu);
    for (const auto& [own, network] : port.template addresses_of<Family>()) {
      own_addresses_.insert(own);
      connected_.push_back(network);
      targets_.push_back({control::RouteKind::unicast, {{std::nullopt, port.name, 1}}});
      const auto target = static_cast<std::uint32_t>(targets_.size() - 1);
      by_length_[network.length].insert_or_assign(network.address, Entry{0, target});
    }
  }
  for (const auto& neighbour : neighbours) {
    neighbours_[{port_by_name_.at(neighbour.port), neighbour.address}] = neighbour.mac.value;
  }
}

template <class Rules>
void RouteOracle<Rules>::add(Prefix prefix, Entry entry) {
  const auto [known, is_new] = by_length_[prefix.length].emplace(prefix.address, entry);
  if (!is_new && entry.metric < known->second.metric) known->second = entry;
}

template <class Rules>
auto RouteOracle<Rules>::find(Address address) const -> const RouteTarget* {
  for (unsigned length = Family::kBits + 1; length-- > 0;) {
    const auto& prefixes = by_length_[length];
    if (prefixes.empty()) continue;
    const auto match = prefixes.find(first_bits(address, length));
    if (match != prefixes.end()) return &targets_[match->second.target];
  }
  return nullptr;
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
  const RouteTarget* target = find(destination);
  if (target == nullptr) return {"no_route", {}};
  if (target->kind == control::RouteKind::blackhole) return {"blackhole", {}};
  if (target->kind == control::RouteKind::unreachable) return {"unreachable", {}};
  const auto is_by_host = [](const auto& hop) { return hop.inet6_gateway.has_value(); };
  if (std::ranges::all_of(target->next_hops, is_by_host)) return {"via_host", {}};
  if (Rules::hops_left(packet) <= 1) return {Rules::kHopsUsedUp, {}};
  return ways(*target, destination, Rules::bytes(packet));
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
