// SPDX-License-Identifier: Apache-2.0
//
// Offsets and numbers of IP headers that the codec of ESP uses.
#pragma once

#include <cstdint>

#include "penumbra/packet.h"

namespace penumbra::ipsec {

inline constexpr std::uint32_t kIpv4Bytes = 20, kIpv6Bytes = 40;
inline constexpr std::uint32_t kIpv4ProtocolAt = 9, kIpv6NextHeaderAt = 6;
inline constexpr std::uint32_t kIpv4SourceAt = 12, kIpv4DestinationAt = 16, kIpv6SourceAt = 8, kIpv6DestinationAt = 24;
inline constexpr std::uint16_t kDontFragment = 0x4000;  ///< In the field of the fragment offset of IPv4.
inline constexpr std::uint8_t kProtocolIpv4 = 4, kProtocolIpv6 = 41;
inline constexpr std::uint32_t kTrailerEndBytes = 2;  ///< Pad length and next header of ESP.

/// Reads an address of the packet: 4 or 16 bytes.
inline const std::uint8_t* source_at(const std::uint8_t* frame, const PacketHeaders& headers) {
  return frame + headers.network + (headers.has(PacketHeaders::kIpv6) ? kIpv6SourceAt : kIpv4SourceAt);
}
inline const std::uint8_t* destination_at(const std::uint8_t* frame, const PacketHeaders& headers) {
  return frame + headers.network + (headers.has(PacketHeaders::kIpv6) ? kIpv6DestinationAt : kIpv4DestinationAt);
}

/// Returns DSCP and ECN of an IP header.
inline std::uint8_t traffic_class(const std::uint8_t* ip, bool is_ipv6) {
  return is_ipv6 ? static_cast<std::uint8_t>(ip[0] << 4 | ip[1] >> 4) : ip[1];
}
/// Sets DSCP and ECN of an IP header, and updates the checksum of IPv4.
void set_traffic_class(std::uint8_t* ip, bool is_ipv6, std::uint8_t value);

/// Where ESP follows or precedes the transport header, in offsets from the frame's first byte.
struct TransportPoint {
  std::uint32_t at = 0;              ///< Of the header that follows.
  std::uint32_t next_header_at = 0;  ///< Of the field that names it.
};
/// Returns where transport mode inserts ESP: after the headers that routers on the way read (RFC 4303, section 3.1.1).
TransportPoint insertion_point(const std::uint8_t* frame, const PacketHeaders& headers);
/// Returns the point of the header at `at`, which the parser found.
TransportPoint point_of(const std::uint8_t* frame, const PacketHeaders& headers, std::uint32_t at);

}  // namespace penumbra::ipsec
