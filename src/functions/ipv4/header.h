// SPDX-License-Identifier: Apache-2.0
//
// What a router must check before it believes a packet (RFC 1812, sections 3.3, 4.2.2, 5.2.2 and 5.3), and what it does
// to the header of one that it sends on. Pure functions over bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/forwarding/ethernet.h"
#include "functions/ipv4/outcome.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra::ipv4 {

using forwarding::kArpEthertype;
using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::kIpv6Ethertype;
using forwarding::StationFilter;

inline constexpr std::uint16_t kEthertype = forwarding::kIpv4Ethertype;

inline constexpr std::size_t kHeaderBytes = 20;  ///< of an IPv4 header without options

// Where fields stand in the IPv4 header.
inline constexpr std::size_t kTotalLengthAt = 2;
inline constexpr std::size_t kTtlAt = 8;
inline constexpr std::size_t kChecksumAt = 10;
inline constexpr std::size_t kSourceAt = 12;
inline constexpr std::size_t kDestinationAt = 16;

namespace detail {

/// One's complement sum of 32-bit parts (RFC 1071: any width and byte order will do), folded to 16 bits.
inline std::uint16_t fold(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  return static_cast<std::uint16_t>((sum >> 16) + sum);
}

inline bool checksum_is_right(const std::uint8_t* header, std::size_t header_bytes) {
  const auto low_and_high = [](std::uint64_t both) { return (both & 0xFFFFFFFF) + (both >> 32); };
  std::uint64_t sum = low_and_high(load<std::uint64_t>(header)) + low_and_high(load<std::uint64_t>(header + 8)) +
                      load<std::uint32_t>(header + 16);
  for (std::size_t at = kHeaderBytes; at < header_bytes; at += 4) sum += load<std::uint32_t>(header + at);
  return fold(sum) == 0xFFFF;
}

/// Which of the punt limits counts for IPv6: a flood of one kind leaves the others their host. Neighbour discovery is
/// ICMPv6 (58) of types 133 to 137 with a hop limit of 255 (RFC 4861, section 4).
inline Outcome ipv6(const std::uint8_t* packet, std::size_t readable) {
  constexpr std::size_t kIpv6HeaderBytes = 40, kNextHeaderAt = 6, kHopLimitAt = 7, kIpv6DestinationAt = 24;
  if (readable <= kIpv6HeaderBytes) return Outcome::ipv6;
  const std::uint8_t type = packet[kIpv6HeaderBytes];
  if (packet[kNextHeaderAt] == 58 && packet[kHopLimitAt] == 255 && type >= 133 && type <= 137) {
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

/// Whether an address that begins with this byte is unicast.
inline bool is_ordinary(std::uint8_t first_byte) {
  return Ipv4Address{std::uint32_t{first_byte} << 24}.is_unicast();
}

/// For addresses of which one is not ordinary. A host that has no address yet sends from 0.0.0.0 to all or to a group.
inline Outcome special_address(const std::uint8_t* header) {
  const std::uint32_t destination = load_be32(header + kDestinationAt);
  const bool to_all = destination == 0xFFFFFFFF, to_group = destination >> 28 == 0xE;
  const bool from_nobody = load_be32(header + kSourceAt) == 0;
  if (!is_ordinary(header[kSourceAt]) && !(from_nobody && (to_all || to_group))) return Outcome::martian_source;
  if (to_all) return Outcome::broadcast;
  return to_group ? Outcome::multicast : Outcome::martian_destination;
}

}  // namespace detail

/// Judges a frame up to where its destination has to be looked up; Outcome::forward if nothing speaks against it. Of
/// the frame's `bytes` bytes the first `readable` lie at `frame`; nothing past them is read.
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
  if (!detail::checksum_is_right(header, header_bytes)) return Outcome::bad_checksum;

  if (!detail::is_ordinary(header[kSourceAt]) || !detail::is_ordinary(header[kDestinationAt]))
    return detail::special_address(header);
  if ((frame[0] & 1) != 0) return Outcome::link_broadcast;
  if (header_bytes > kHeaderBytes) return Outcome::options;
  return Outcome::forward;
}

/// Takes one off a TTL of at least 1 and mends the checksum, RFC 1624 equation 3: HC' = ~(~HC + ~m + m'). With
/// m' = m - 0x0100 this adds 0x0100 to HC in one's complement, where the sum is never 0xFFFF: just what recomputing
/// gives. The addition is done in the byte order of memory, where it adds 1 (RFC 1071, section 2B).
inline void decrement_ttl(std::uint8_t* header) {
  const auto checksum = load<std::uint16_t>(header + kChecksumAt);
  header[kTtlAt] = static_cast<std::uint8_t>(header[kTtlAt] - 1);
  store(header + kChecksumAt, static_cast<std::uint16_t>(checksum + 1 + (checksum >= 0xFFFE ? 1 : 0)));
}

}  // namespace penumbra::ipv4
