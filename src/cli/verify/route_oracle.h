// SPDX-License-Identifier: Apache-2.0
//
// Finds the route of a packet by longest-prefix match in a binary trie.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/prefix_oracle.h"
#include "cli/verify/frame.h"
#include "cli/verify/ipv4_rules.h"
#include "cli/verify/ipv6_rules.h"
#include "control/routes.h"
#include "penumbra/function.h"

namespace penumbra::cli::verify {

/// A possible output of a packet.
struct Way {
  std::uint16_t port = 0;
  std::uint64_t mac = 0;  ///< MAC address of the next hop; 0: unknown, so the packet is punted
  unsigned mtu = 0;       ///< MTU of the port, bytes; longer packets are punted

  auto operator<=>(const Way&) const = default;
  /// Returns true if an IP packet of `ip_bytes` bytes can leave this way.
  bool carries(unsigned ip_bytes) const { return mac != 0 && ip_bytes <= mtu; }
};

/// The expectation for a packet: not sent for a reason, or sent by one of the ways (sorted, all different). All packets
/// of a flow take the same way.
struct Expectation {
  std::string reason;
  std::vector<Way> ways;
};

/// An oracle of one address family; `Rules` is Ipv4Rules or Ipv6Rules.
template <class Rules>
class RouteOracle {
 public:
  using Family = typename Rules::AddressFamily;
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;

  RouteOracle(const std::vector<PortInfo>& ports, const control::RouteListOf<Family>& routes,
              const std::vector<control::NeighbourOf<Family>>& neighbours, bool forwards_link_local = false);

  /// Returns the expectation for a packet that Rules::inspect() accepts.
  Expectation judge(Frame packet) const;

 private:
  using RouteTarget = control::RouteTargetOf<Family>;

  std::string reason_on_links(Address destination) const;
  Expectation ways(const RouteTarget& target, Address destination, unsigned ip_bytes) const;

  const bool forwards_link_local_;
  std::vector<unsigned> mtu_by_port_;
  std::map<std::string, std::uint16_t> port_by_name_;
  std::vector<RouteTarget> targets_;
  PrefixOracle<Family, control::RouteOf<Family>> routes_;
  std::map<std::pair<std::uint16_t, Address>, std::uint64_t> neighbours_;
  std::set<Address> own_addresses_;
  std::vector<Prefix> connected_;
};

extern template class RouteOracle<Ipv4Rules>;
extern template class RouteOracle<Ipv6Rules>;

}  // namespace penumbra::cli::verify
