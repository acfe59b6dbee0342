// SPDX-License-Identifier: Apache-2.0
//
// Implements an oracle for tests. The oracle computes from lists, slowly, where a packet may go. The oracle shares no
// code with the function under test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "testing/packet.h"

namespace penumbra::forwarding::oracle {

using function_testing::Bytes;

inline unsigned word(const Bytes& bytes, std::size_t at) {
  return bytes.at(at) * 256U + bytes.at(at + 1);
}
inline std::uint32_t address(const Bytes& bytes, std::size_t at) {
  return word(bytes, at) * 65536U + word(bytes, at + 2);
}
inline std::uint64_t mac(const Bytes& bytes, std::size_t at) {
  return std::uint64_t{word(bytes, at)} << 32 | address(bytes, at + 2);
}

/// Holds the permitted results for a packet: one result, or any of several next hops.
struct Judgement {
  std::string reason;                                           ///< empty if the packet is sent
  std::set<std::pair<std::uint16_t, std::uint64_t>> next_hops;  ///< (port, MAC) that the packet may be sent to
  std::set<std::string> member_reasons;                         ///< reasons that apply to some of several next hops
};

/// Holds lists of routes, neighbours and ports. `Rules` has the names of the family: edge(network, address), which
/// returns the reason for a reserved address of a connected network or ""; kHopsUsedUp; kTooLong.
template <class Family, class Rules>
struct NetworkOf {
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;
  using RouteTarget = control::RouteTargetOf<Family>;

  std::vector<PortInfo> ports;
  /// Holds routes by (prefix, metric). The port "host" means any interface of the host that is not a port. The port
  /// "unreachable by host" means a destination that the host cannot reach.
  std::map<std::pair<Prefix, std::uint32_t>, RouteTarget> routes;
  std::map<std::pair<std::string, Address>, MacAddress> neighbours;

  const PortInfo& port(const std::string& name) const {
    for (const PortInfo& candidate : ports) {
      if (candidate.name == name) return candidate;
    }
    throw std::out_of_range(name);
  }

  /// Returns the results for a packet of `total_bytes` bytes with `hops_left` hops to `destination`. A packet with
  /// `link_local` must not leave its link.
  Judgement judge(Address destination, unsigned hops_left, std::size_t total_bytes, bool link_local = false) const {
    for (const PortInfo& candidate : ports) {
      for (const auto& own : candidate.template addresses_of<Family>()) {
        if (own.address == destination) return {.reason = "local", .next_hops = {}, .member_reasons = {}};
      }
    }
    for (const PortInfo& candidate : ports) {
      for (const auto& [own, network] : candidate.template addresses_of<Family>()) {
        const std::string edge = Rules::edge(network, destination);
        if (!edge.empty()) return {.reason = edge, .next_hops = {}, .member_reasons = {}};
      }
    }
    if (link_local) return {.reason = "link_local", .next_hops = {}, .member_reasons = {}};
    // The longest prefix decides. For one prefix the connected network precedes routes, and the lowest metric precedes
    // higher ones.
    std::optional<std::tuple<int, int, std::int64_t>> best;
    RouteTarget target;
    const auto consider = [&](Prefix prefix, int connected, std::uint32_t metric, const RouteTarget& leads) {
      const std::tuple<int, int, std::int64_t> rank{prefix.length, connected, -std::int64_t{metric}};
      if (!prefix.contains(destination) || (best && *best >= rank)) return;
      best = rank;
      target = leads;
    };
    for (const auto& [key, leads] : routes) consider(key.first, 0, key.second, leads);
    for (const PortInfo& candidate : ports) {
      for (const auto& own : candidate.template addresses_of<Family>()) {
        if (own.network.length == Family::kBits) continue;
        RouteTarget link;
        link.next_hops = {{.gateway = std::nullopt, .port = candidate.name}};
        consider(own.network, 1, 0, link);
      }
    }
    if (!best) return {.reason = "no_route", .next_hops = {}, .member_reasons = {}};
    if (target.kind == control::RouteKind::blackhole)
      return {.reason = "blackhole", .next_hops = {}, .member_reasons = {}};
    if (target.kind == control::RouteKind::unreachable) {
      return {.reason = "unreachable", .next_hops = {}, .member_reasons = {}};
    }
    if (target.next_hops.front().port == "unreachable by host") {
      return {.reason = "unreachable_by_host", .next_hops = {}, .member_reasons = {}};
    }
    if (target.next_hops.front().port == "host") return {.reason = "via_host", .next_hops = {}, .member_reasons = {}};
    if (hops_left <= 1) return {.reason = Rules::kHopsUsedUp, .next_hops = {}, .member_reasons = {}};
    Judgement judgement;
    for (const auto& hop : target.next_hops) {
      const auto neighbour = neighbours.find({hop.port, hop.gateway.value_or(destination)});
      if (neighbour == neighbours.end()) {
        judgement.member_reasons.insert("unknown_neighbour");
      } else if (total_bytes > port(hop.port).mtu) {
        judgement.member_reasons.insert(Rules::kTooLong);
      } else {
        judgement.next_hops.insert({port(hop.port).index, neighbour->second.value});
      }
    }
    return judgement;
  }
};

}  // namespace penumbra::forwarding::oracle
