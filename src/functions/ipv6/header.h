// SPDX-License-Identifier: Apache-2.0
//
// What a router must check before it believes a packet (RFC 8200, section 3; RFC 4291, sections 2.5 to 2.7), and what
// it does to the header of one that it sends on. Pure functions over bytes.
//
// Extension headers are neither looked at nor changed: RFC 8200, section 4, leaves all but the hop-by-hop options to
// the destination, and those to nodes that are configured to process them, which this one is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "functions/forwarding/ethernet.h"
#include "functions/ipv6/outcome.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::ipv6 {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::StationFilter;

inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::uint16_t kEthertype = forwarding::kIpv6Ethertype;

// Where fields stand in the IPv6 header.
inline constexpr std::size_t kPayloadLengthAt = 4;
inline constexpr std::size_t kNextHeaderAt = 6;
inline constexpr std::size_t kHopLimitAt = 7;
inline constexpr std::size_t kSourceAt = 8;
inline constexpr std::size_t kDestinationAt = 24;

inline Ipv6Address address_at(const std::uint8_t* bytes) {
  return {load_be64(bytes), load_be64(bytes + 8)};
}
/// The whole packet, its header included.
inline std::size_t packet_bytes(const std::uint8_t* header) {
  return kHeaderBytes + load_be16(header + kPayloadLengthAt);
}

namespace detail {

inline Outcome not_ipv6(std::uint16_t ethertype) {
  if (ethertype == forwarding::kArpEthertype) return Outcome::arp;
  return ethertype == forwarding::kIpv4Ethertype ? Outcome::ipv4 : Outcome::other_ethertype;
}

/// Neighbour discovery is ICMPv6 (58) of types 133 to 137 that has come through no router (RFC 4861, section 4). Its
/// first byte may lie in a later segment, or not be there.
inline bool is_neighbour_discovery(const std::uint8_t* header, std::size_t readable) {
  if (header[kNextHeaderAt] != 58 || header[kHopLimitAt] != 255) return false;
  if (std::min(readable, packet_bytes(header)) <= kHeaderBytes) return false;
  return header[kHeaderBytes] >= 133 && header[kHeaderBytes] <= 137;
}

/// Whether an address is one that packets go to and come from beyond a link: nearly always, and then with one test.
inline bool is_ordinary(Ipv6Address address) {
  return address.high >> 60 == 2 || address.high >> 60 == 3 || (address.is_unicast() && !address.is_link_local());
}

/// For addresses of which one is not ordinary. A host that has no address yet sends from :: to groups (RFC 4862).
/// Groups of scope 0 and 1 are never on a link (RFC 4291, 2.7, with erratum 3480).
inline Outcome special_address(Ipv6Address source, Ipv6Address destination) {
  const bool from_nobody = source == Ipv6Address{};
  if (!source.is_unicast() && !(from_nobody && destination.is_multicast())) return Outcome::martian_source;
  if (destination.is_multicast()) {
    return (destination.high >> 48 & 0xF) <= 1 ? Outcome::martian_destination : Outcome::multicast;
  }
  return destination.is_unicast() ? Outcome::link_local : Outcome::martian_destination;
}

}  // namespace detail

/// Judges a frame up to where its destination has to be looked up; Outcome::forward if nothing speaks against it. Of
/// the frame's `bytes` bytes the first `readable` lie at `frame`; nothing past them is read.
inline Outcome inspect(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                       const StationFilter& station) {
  if (readable < kEthernetBytes) return Outcome::runt;
  if (!station.accepts(frame)) return Outcome::wrong_mac;
  const std::uint16_t ethertype = load_be16(frame + kEthertypeAt);
  if (ethertype != kEthertype) return detail::not_ipv6(ethertype);
  if (readable < kEthernetBytes + kHeaderBytes) return Outcome::truncated;

  const std::uint8_t* const header = frame + kEthernetBytes;
  if (header[0] >> 4 != 6) return Outcome::bad_version;
  if (kEthernetBytes + packet_bytes(header) > bytes) return Outcome::truncated;
  if (header[kNextHeaderAt] == 0 && packet_bytes(header) == kHeaderBytes) return Outcome::bad_payload_length;

  const Ipv6Address source = address_at(header + kSourceAt), destination = address_at(header + kDestinationAt);
  const bool ordinary = detail::is_ordinary(source) && detail::is_ordinary(destination);
  const Outcome special = ordinary ? Outcome::forward : detail::special_address(source, destination);
  if (special == Outcome::martian_source || special == Outcome::martian_destination) return special;
  if (detail::is_neighbour_discovery(header, readable - kEthernetBytes)) return Outcome::neighbour_discovery;
  if (special == Outcome::multicast) return special;
  if ((frame[0] & 1) != 0) return Outcome::link_group;
  return special;
}

/// Takes one off a hop limit of at least 1.
inline void decrement_hop_limit(std::uint8_t* header) {
  header[kHopLimitAt] = static_cast<std::uint8_t>(header[kHopLimitAt] - 1);
}

}  // namespace penumbra::ipv6
