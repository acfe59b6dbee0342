// SPDX-License-Identifier: Apache-2.0
//
// Implements IPv4 forwarding: the fast path of RFC 1812. docs/functions/ipv4.md lists the order of its checks. This
// header has the parts specific to IPv4; src/functions/forwarding has all others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/family.h"
#include "functions/ipv4/header.h"
#include "functions/ipv4/lookup_table.h"
#include "functions/ipv4/outcome.h"
#include "penumbra/bytes.h"
#include "penumbra/flow_hash.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"

namespace penumbra::ipv4 {

struct Family : Ipv4 {
  using Outcome = ipv4::Outcome;
  static const std::vector<Reason>& reasons(bool host_has_routes) { return outcome_reasons(host_has_routes); }
  static constexpr Outcome kToBroadcast = Outcome::broadcast;
  static constexpr bool kLooksUpLinkLocal = true;
  static constexpr Outcome kHopsUsedUp = Outcome::ttl_expired, kTooLong = Outcome::fragmentation_needed;
  static constexpr std::uint16_t kEthertype = ipv4::kEthertype;
  static constexpr std::uint32_t kFlowSeed = 0x49507634;  // must differ from the seed of RSS: see ipv4_flow_hash

  using LookupTable = ipv4::LookupTable;
  static constexpr std::array<std::string_view, 2> kLookups{"dir24_8", "runs"};
  static LookupTable make_table(GracePeriods& grace_periods, std::size_t lookup) {
    return LookupTable(grace_periods, lookup == 1);
  }
  static ipv4::Ahead ahead(const Table& table, std::size_t lookup) { return {table, lookup == 1}; }
  using Column = std::uint32_t;
  static Column column(Address address) { return address.value; }

  static Outcome inspect(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                         const StationFilter& station) {
    return ipv4::inspect(frame, readable, bytes, station);
  }

  struct Header {
    static constexpr std::size_t kBytes = kHeaderBytes, kHopsLeftAt = kTtlAt;
    static constexpr const char* kHopsLeftName = "ttl";
    static Ipv4Address source(const std::uint8_t* header) { return {load_be32(header + kSourceAt)}; }
    static Ipv4Address destination(const std::uint8_t* header) { return {load_be32(header + kDestinationAt)}; }
    static std::size_t packet_bytes(const std::uint8_t* header) { return load_be16(header + kTotalLengthAt); }
    static void decrement(std::uint8_t* header) { decrement_ttl(header); }
    /// True for a packet from or to 169.254.0.0/16 (RFC 3927, section 7).
    static bool is_link_local(const std::uint8_t* header) {
      constexpr std::uint16_t kPrefix = 0xA9FE;
      return load_be16(header + kSourceAt) == kPrefix || load_be16(header + kDestinationAt) == kPrefix;
    }
    static std::uint32_t flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed) {
      return ipv4_flow_hash(header, bytes, seed, FlowPorts::udp_too);
    }
  };

  /// Returns the broadcast addresses of a network: its first and last address. A /31 has none (RFC 3021).
  static std::vector<Address> edges(Prefix network) {
    return network.length >= 31 ? std::vector<Address>{} : std::vector{network.address, network.last()};
  }
  static constexpr FeedTarget::Kind kEdgeKind = FeedTarget::Kind::broadcast;
  static constexpr std::string_view kEdgeSource = "broadcast";
  static constexpr bool is_looked_up(Prefix /*prefix*/) { return true; }
};
static_assert(forwarding::ForwardingFamily<Family>);

}  // namespace penumbra::ipv4
