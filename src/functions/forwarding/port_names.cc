// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/port_names.h"

#include <optional>
#include <stdexcept>

#include "functions/forwarding/families.h"

namespace penumbra::forwarding {
namespace {

std::uint16_t find_index(const std::unordered_map<std::string, std::uint16_t>& indices, const std::string& name) {
  const auto found = indices.find(name);
  if (found == indices.end()) throw std::invalid_argument("there is no port '" + name + "'");
  return found->second;
}

}  // namespace

template <ForwardingFamily Family>
void PortNames<Family>::set_ports(std::span<const PortInfo> ports) {
  ports_.assign(ports.begin(), ports.end());
  indices_.clear();
  for (const PortInfo& port : ports) {
    if (port.removed) continue;
    indices_.emplace(port.name, port.index);
    last_indices_.insert_or_assign(port.name, port.index);
  }
}

template <ForwardingFamily Family>
std::uint16_t PortNames<Family>::index_of(const std::string& name) const {
  return find_index(indices_, name);
}

template <ForwardingFamily Family>
std::uint16_t PortNames<Family>::last_index_of(const std::string& name) const {
  return find_index(last_indices_, name);
}

template <ForwardingFamily Family>
TargetOf<Family> PortNames<Family>::to_target(const RouteTarget& target) const {
  if (target.kind == RouteTarget::Kind::blackhole) return {Target::Kind::blackhole, {}};
  if (target.kind == RouteTarget::Kind::unreachable) return {Target::Kind::unreachable, {}};
  Target result;
  result.hops.reserve(target.next_hops.size());
  for (const auto& hop : target.next_hops) {
    const std::uint16_t port = index_of(hop.port);
    result.hops.push_back(
        {.port = hop.inet6_gateway ? Hop::kHost : port, .gateway = hop.gateway, .weight = hop.weight});
  }
  check(result);
  return result;
}

template <ForwardingFamily Family>
void PortNames<Family>::check(const Target& target) const {
  if (target.kind == Target::Kind::unicast && target.hops.empty()) {
    throw std::invalid_argument("a route needs a next hop");
  }
  for (const Hop& hop : target.hops) {
    if (hop.weight == 0) throw std::invalid_argument("a next hop's weight is at least 1");
    if (hop.port == Hop::kHost ? hop.gateway.has_value() : hop.port >= ports_.size()) {
      throw std::invalid_argument("a next hop leads to a port, or to the host without gateway");
    }
  }
}

template <ForwardingFamily Family>
std::string PortNames<Family>::name_of(std::uint16_t port) const {
  return port == Hop::kHost ? "host" : ports_[port].name;
}

template <ForwardingFamily Family>
auto PortNames<Family>::next_hops(const Target& target) const -> std::vector<NextHop> {
  std::vector<NextHop> hops;
  hops.reserve(target.hops.size());
  for (const Hop& hop : target.hops) {
    const bool gateway = target.kind == Target::Kind::unicast && !hop.on_link;
    hops.push_back({.gateway = gateway ? std::optional(hop.gateway) : std::nullopt,
                    .port = name_of(hop.port),
                    .weight = hop.weight});
  }
  return hops;
}

template <ForwardingFamily Family>
std::string PortNames<Family>::text(const Target& target) const {
  if (target.kind == Target::Kind::unicast) return control::to_string(RouteTarget{.next_hops = next_hops(target)});
  const std::string type(FeedTarget::name_of(target.kind));
  return target.hops.empty() ? type : type + " dev " + name_of(target.hops.front().port);
}

#define INSTANTIATE(Family) template class PortNames<Family>;
PENUMBRA_FOR_EACH_FAMILY(INSTANTIATE)
#undef INSTANTIATE

}  // namespace penumbra::forwarding
