// SPDX-License-Identifier: Apache-2.0
#include "cli/verify/route_oracle.h"

#include <algorithm>

namespace penumbra::cli::verify {
namespace {

std::uint32_t first_bits(std::uint32_t address, unsigned length) {
  return length == 0 ? 0 : address >> (32 - length) << (32 - length);
}

}  // namespace

Oracle::Oracle(std::vector<PortInfo> ports, const control::RouteList& routes,
               const std::vector<control::Neighbour>& neighbours)
    : ports_(std::move(ports)), targets_(routes.targets) {
  for (const auto& route : routes.routes) add(route.prefix, {route.metric, route.target});
  for (const auto& port : ports_) {
    port_by_name_[port.name] = port.index;
    for (const auto& address : port.addresses) {
      own_addresses_.insert(address.address.value);
      if (address.network.length <= 30) {  // RFC 3021; and RFC 1812, 4.2.3.1: all zeros are an old broadcast address
        directed_broadcasts_.insert({address.network.address.value, address.network.last().value});
      }
      targets_.push_back({control::RouteTarget::Kind::unicast, {{std::nullopt, port.name, 1}}});
      const auto target = static_cast<std::uint32_t>(targets_.size() - 1);
      by_length_[address.network.length].insert_or_assign(address.network.address.value, Entry{0, target});
    }
  }
  for (const auto& neighbour : neighbours) {
    neighbours_[{port_by_name_.at(neighbour.port), neighbour.address.value}] = neighbour.mac.value;
  }
}

void Oracle::add(Ipv4Prefix prefix, Entry entry) {
  const auto [known, is_new] = by_length_[prefix.length].emplace(prefix.address.value, entry);
  if (!is_new && entry.metric < known->second.metric) known->second = entry;
}

const control::RouteTarget* Oracle::find(std::uint32_t address) const {
  for (unsigned length = 33; length-- > 0;) {
    const auto& prefixes = by_length_[length];
    const auto match = prefixes.find(first_bits(address, length));
    if (match != prefixes.end()) return &targets_[match->second.target];
  }
  return nullptr;
}

Expectation Oracle::judge(std::uint16_t port, Frame frame) const {
  Expectation expectation{inspect(ports_[port], frame), {}};
  if (!expectation.reason.empty()) return expectation;
  const Frame packet = frame.subspan(kEthernetBytes);
  const std::uint32_t destination = read32(packet, 16);
  if (own_addresses_.contains(destination)) return {"local", {}};
  if (directed_broadcasts_.contains(destination)) return {"broadcast", {}};
  const control::RouteTarget* target = find(destination);
  if (target == nullptr) return {"no_route", {}};
  if (target->kind == control::RouteTarget::Kind::blackhole) return {"blackhole", {}};
  if (target->kind == control::RouteTarget::Kind::unreachable) return {"unreachable", {}};
  if (packet[8] <= 1) return {"ttl_expired", {}};
  return ways(*target, destination, read16(packet, 2));
}

Expectation Oracle::ways(const control::RouteTarget& target, std::uint32_t destination, unsigned ip_bytes) const {
  Expectation expectation;
  bool all_unknown = true;
  for (const auto& hop : target.next_hops) {
    const std::uint16_t port = port_by_name_.at(hop.port);
    const auto neighbour = neighbours_.find({port, hop.gateway ? hop.gateway->value : destination});
    const std::uint64_t mac = neighbour == neighbours_.end() ? 0 : neighbour->second;
    expectation.ways.push_back({port, mac, ports_[port].mtu});
    all_unknown = all_unknown && mac == 0;
  }
  auto& found = expectation.ways;
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  if (std::ranges::none_of(found, [&](const Way& way) { return way.carries(ip_bytes); })) {
    return {all_unknown ? "unknown_neighbour" : "fragmentation_needed", {}};
  }
  return expectation;
}

}  // namespace penumbra::cli::verify
