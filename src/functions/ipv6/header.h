// SPDX-License-Identifier: Apache-2.0
//
// Checks a packet before it is forwarded (RFC 8200, section 3; RFC 4291, sections 2.5 to 2.7). The functions only
// access bytes. They read the fixed header themselves, because forwarding needs no header after it.
//
// Extension headers are neither read nor changed. RFC 8200, section 4, reserves all except the hop-by-hop options for
// the destination. Only nodes that are configured to process hop-by-hop options do so; this router does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "functions/forwarding/ethernet.h"
#include "functions/ipv6/outcome.h"
#include "packet/edits.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::ipv6 {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::StationFilter;
using penumbra::decrement_hop_limit;

inline constexpr std::size_t kHeaderBytes = 40;
inline constexpr std::uint16_t kEthertype = forwarding::kIpv6Ethertype;

// Lists the offsets of fields in the IPv6 header.
inline constexpr std::size_t kPayloadLengthAt = 4;
inline constexpr std::size_t kNextHeaderAt = 6;
inline constexpr std::size_t kHopLimitAt = 7;
inline constexpr std::size_t kSourceAt = 8;
inline constexpr std::size_t kDestinationAt = 24;

inline Ipv6Address address_at(const std::uint8_t* bytes) {
  return {load_be64(bytes), load_be64(bytes + 8)};
}
/// Returns the size of the whole packet, including its header.
inline std::size_t packet_bytes(const std::uint8_t* header) {
  return kHeaderBytes + load_be16(header + kPayloadLengthAt);
}

namespace detail {

inline Outcome not_ipv6(std::uint16_t ethertype) {
  if (ethertype == forwarding::kArpEthertype) return Outcome::arp;
  return ethertype == forwarding::kIpv4Ethertype ? Outcome::ipv4 : Outcome::other_ethertype;
}

/// True for neighbour discovery: ICMPv6 (58) of types 133 to 137 that no router has forwarded (RFC 4861, section 4).
/// The ICMPv6 type may be in a later segment or be missing.
inline bool is_neighbour_discovery(const std::uint8_t* header, std::size_t readable) {
  if (header[kNextHeaderAt] != ip_protocol::kIcmpv6 || header[kHopLimitAt] != 255) return false;
  if (std::min(readable, packet_bytes(header)) <= kHeaderBytes) return false;
  return header[kHeaderBytes] >= 133 && header[kHeaderBytes] <= 137;
}

/// True if the address is used across links. One comparison suffices for nearly all addresses.
inline bool is_ordinary(Ipv6Address address) {
  return address.high >> 60 == 2 || address.high >> 60 == 3 || (address.is_unicast() && !address.is_link_local());
}

/// Returns the outcome if the source or the destination is not used across links. A host without address sends from ::
/// to groups (RFC 4862). Groups of scope 0 and 1 never appear on a link (RFC 4291, 2.7, with erratum 3480).
inline Outcome special_address(Ipv6Address source, Ipv6Address destination) {
  const bool from_nobody = source == Ipv6Address{};
  if (!source.is_unicast() && !(from_nobody && destination.is_multicast())) return Outcome::martian_source;
  if (destination.is_multicast()) {
    return (destination.high >> 48 & 0xF) <= 1 ? Outcome::martian_destination : Outcome::multicast;
  }
  return destination.is_unicast() ? Outcome::link_local : Outcome::martian_destination;
}

}  // namespace detail

/// Checks a frame before the look-up of its destination. Returns Outcome::forward if all checks pass. The first
/// `readable` of the frame's `bytes` bytes are at `frame`; nothing after them is read.
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

}  // namespace penumbra::ipv6
