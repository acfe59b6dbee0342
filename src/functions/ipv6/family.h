// SPDX-License-Identifier: Apache-2.0
//
// Implements IPv6 forwarding (RFC 8200, RFC 4291). docs/functions/ipv6.md lists the order of its checks. This header
// has the parts specific to IPv6; src/functions/forwarding has all others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/family.h"
#include "functions/ipv6/header.h"
#include "functions/ipv6/lookup_table.h"
#include "functions/ipv6/outcome.h"
#include "penumbra/flow_hash.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"
#include "penumbra/route_feed.h"
#include "tables/ipv6_lengths/ipv6_lengths.h"
#include "tables/ipv6_runs/ipv6_runs.h"
#include "tables/ipv6_trie/ipv6_trie.h"

namespace penumbra::ipv6 {

struct Family : Ipv6 {
  using Outcome = ipv6::Outcome;
  static const std::vector<Reason>& reasons(bool host_has_routes) { return outcome_reasons(host_has_routes); }
  static constexpr bool kLooksUpLinkLocal = false;
  static constexpr Outcome kToBroadcast = Outcome::local;  // IPv6 has no broadcast; such a target means the host
  static constexpr Outcome kHopsUsedUp = Outcome::hop_limit_exceeded, kTooLong = Outcome::packet_too_big;
  static constexpr std::uint16_t kEthertype = ipv6::kEthertype;
  static constexpr std::uint32_t kFlowSeed = 0x49507636;  // must differ from the seed of RSS: see ipv4_flow_hash

  using LookupTable = ipv6::LookupTable;
  static constexpr std::array<std::string_view, 3> kLookups{"trie", "lengths", "runs"};
  static LookupTable make_table(GracePeriods& grace_periods, std::size_t lookup) {
    if (lookup == 0) return LookupTable(std::make_unique<Ipv6Trie>(grace_periods));
    if (lookup == 1) return LookupTable(std::make_unique<Ipv6Lengths>(grace_periods));
    return LookupTable(std::make_unique<Ipv6Runs>(grace_periods));
  }
  /// Prefetches nothing, because the first access of a look-up depends on the structure.
  struct Ahead {
    void fetch(Ipv6Address /*address*/) const {}
  };
  static Ahead ahead(const Table& /*table*/, std::size_t /*lookup*/) { return {}; }
  using Column = ipv6_address;
  static Column column(Address address) { return {address.high, address.low}; }

  static Outcome inspect(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                         const StationFilter& station) {
    return ipv6::inspect(frame, readable, bytes, station);
  }

  struct Header {
    static constexpr std::size_t kBytes = kHeaderBytes, kHopsLeftAt = kHopLimitAt;
    static constexpr const char* kHopsLeftName = "hop limit";
    static Ipv6Address source(const std::uint8_t* header) { return address_at(header + kSourceAt); }
    static Ipv6Address destination(const std::uint8_t* header) { return address_at(header + kDestinationAt); }
    static std::size_t packet_bytes(const std::uint8_t* header) { return ipv6::packet_bytes(header); }
    static void decrement(std::uint8_t* header) { decrement_hop_limit(header); }
    static bool is_link_local(const std::uint8_t* /*header*/) {
      return false;
    }  // inspect() handles link-local addresses
    static std::uint32_t flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed) {
      return ipv6_labelled_flow_hash(header, bytes, seed, FlowPorts::udp_too);
    }
  };

  /// Returns the anycast address of a network's routers, its first address (RFC 4291, 2.6.1). A /127 or longer prefix
  /// has none (RFC 6164).
  static std::vector<Address> edges(Prefix network) {
    return network.length >= 127 ? std::vector<Address>{} : std::vector{network.address};
  }
  static constexpr FeedTarget::Kind kEdgeKind = FeedTarget::Kind::local;
  static constexpr std::string_view kEdgeSource = "anycast";
  /// False for groups and link-local addresses. inspect() decides on them, and every port has the same ones.
  static constexpr bool is_looked_up(Prefix prefix) {
    const bool groups = prefix.length >= 8 && prefix.address.is_multicast();
    const bool one_link = prefix.length >= 10 && prefix.address.is_link_local();
    return !groups && !one_link;
  }
};
static_assert(forwarding::ForwardingFamily<Family>);

}  // namespace penumbra::ipv6
