// SPDX-License-Identifier: Apache-2.0
//
// Checks a packet before it is forwarded (RFC 1812, sections 3.3, 4.2.2, 5.2.2 and 5.3). The functions only access
// bytes. They read the fixed header themselves, because forwarding needs no header after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/forwarding/ethernet.h"
#include "functions/ipv4/outcome.h"
#include "packet/checksum.h"
#include "packet/edits.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::ipv4 {

using forwarding::kArpEthertype;
using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::kIpv6Ethertype;
using forwarding::StationFilter;
using penumbra::decrement_ttl;

inline constexpr std::uint16_t kEthertype = forwarding::kIpv4Ethertype;

inline constexpr std::size_t kHeaderBytes = 20;  ///< size of an IPv4 header without options

// Lists the offsets of fields in the IPv4 header.
inline constexpr std::size_t kTotalLengthAt = 2;
inline constexpr std::size_t kTtlAt = 8;
inline constexpr std::size_t kSourceAt = 12;
inline constexpr std::size_t kDestinationAt = 16;

namespace detail {

/// Returns the outcome for an IPv6 packet. The outcomes have separate punt limits, so that a flood of one kind does not
/// block the others. Neighbour discovery is ICMPv6 (58) of types 133 to 137 with a hop limit of 255 (RFC 4861, section
/// 4).
inline Outcome ipv6(const std::uint8_t* packet, std::size_t readable) {
  constexpr std::size_t kIpv6HeaderBytes = 40, kNextHeaderAt = 6, kHopLimitAt = 7, kIpv6DestinationAt = 24;
  if (readable <= kIpv6HeaderBytes) return Outcome::ipv6;
  const std::uint8_t type = packet[kIpv6HeaderBytes];
  if (packet[kNextHeaderAt] == ip_protocol::kIcmpv6 && packet[kHopLimitAt] == 255 && type >= 133 && type <= 137) {
    return Outcome::ipv6_neighbour_discovery;
  }
  const std::uint16_t prefix = load_be16(packet + kIpv6DestinationAt);
  const bool to_link = prefix >> 8 == 0xFF || prefix >> 6 == 0xFE80 >> 6;
  return to_link ? Outcome::ipv6_link : Outcome::ipv6;
}

inline Outcome not_ipv4(const std::uint8_t* frame, std::size_t readable) {
  const std::uint16_t ethertype = load_be16(frame + kEthertypeAt);
  if (ethertype == kArpEthertype) return Outcome::arp;
  if (ethertype == kIpv6Ethertype) return ipv6(frame + kEthernetBytes, readable - kEthernetBytes);
  return Outcome::other_ethertype;
}

/// True if an address with this first byte is unicast.
inline bool is_ordinary(std::uint8_t first_byte) {
  return Ipv4Address{std::uint32_t{first_byte} << 24}.is_unicast();
}

/// Returns the outcome if the source or the destination is not unicast. A host without address sends from 0.0.0.0 to
/// the broadcast address or to a group.
inline Outcome special_address(const std::uint8_t* header) {
  const std::uint32_t destination = load_be32(header + kDestinationAt);
  const bool to_all = destination == 0xFFFFFFFF, to_group = destination >> 28 == 0xE;
  const bool from_nobody = load_be32(header + kSourceAt) == 0;
  if (!is_ordinary(header[kSourceAt]) && !(from_nobody && (to_all || to_group))) return Outcome::martian_source;
  if (to_all) return Outcome::broadcast;
  return to_group ? Outcome::multicast : Outcome::martian_destination;
}

}  // namespace detail

/// Checks a frame before the look-up of its destination. Returns Outcome::forward if all checks pass. The first
/// `readable` of the frame's `bytes` bytes are at `frame`; nothing after them is read.
inline Outcome inspect(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                       const StationFilter& station) {
  if (readable < kEthernetBytes) return Outcome::runt;
  if (!station.accepts(frame)) return Outcome::wrong_mac;
  if (load_be16(frame + kEthertypeAt) != kEthertype) return detail::not_ipv4(frame, readable);
  if (readable < kEthernetBytes + kHeaderBytes) return Outcome::truncated;

  const std::uint8_t* const header = frame + kEthernetBytes;
  if (header[0] >> 4 != 4) return Outcome::bad_version;
  const std::size_t header_bytes = static_cast<std::size_t>(header[0] & 0xF) * 4;
  if (header_bytes < kHeaderBytes) return Outcome::bad_header_length;
  const std::size_t total_bytes = load_be16(header + kTotalLengthAt);
  if (total_bytes < header_bytes) return Outcome::bad_total_length;
  if (kEthernetBytes + total_bytes > bytes || kEthernetBytes + header_bytes > readable) return Outcome::truncated;
  if (!ipv4_checksum_is_right(header, header_bytes)) return Outcome::bad_checksum;

  if (!detail::is_ordinary(header[kSourceAt]) || !detail::is_ordinary(header[kDestinationAt]))
    return detail::special_address(header);
  if ((frame[0] & 1) != 0) return Outcome::link_broadcast;
  if (header_bytes > kHeaderBytes) return Outcome::options;
  return Outcome::forward;
}

}  // namespace penumbra::ipv4
