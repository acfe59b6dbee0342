// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/ip_fields.h"

#include "packet/checksum.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

constexpr std::uint32_t kChecksumAt = 10, kExtensionUnit = 8, kFragmentBytes = 8, kAuthenticationUnit = 4;

/// Returns the bytes of the IPv6 extension header at `header`.
std::uint32_t extension_bytes(std::uint8_t type, const std::uint8_t* header) {
  if (type == ip_protocol::kFragment) return kFragmentBytes;
  if (type == ip_protocol::kAuthentication) return (header[1] + 2U) * kAuthenticationUnit;
  return (header[1] + 1U) * kExtensionUnit;
}

/// Walks the extension headers until `is_end` accepts the next type and offset. The parser has checked them all.
template <class IsEnd>
TransportPoint walk(const std::uint8_t* frame, const PacketHeaders& headers, IsEnd is_end) {
  TransportPoint point{headers.network + kIpv6Bytes, headers.network + kIpv6NextHeaderAt};
  while (point.at < headers.transport && !is_end(frame[point.next_header_at], point.at)) {
    const std::uint32_t here = point.at;
    point.at += extension_bytes(frame[point.next_header_at], frame + here);
    point.next_header_at = here;
  }
  return point;
}

}  // namespace

void set_traffic_class(std::uint8_t* ip, bool is_ipv6, std::uint8_t value) {
  if (is_ipv6) {
    ip[0] = static_cast<std::uint8_t>((ip[0] & 0xF0U) | value >> 4U);
    ip[1] = static_cast<std::uint8_t>((ip[1] & 0x0FU) | value << 4U);
    return;
  }
  const auto before = load<std::uint16_t>(ip);
  ip[1] = value;
  store(ip + kChecksumAt, updated_checksum(load<std::uint16_t>(ip + kChecksumAt), before, load<std::uint16_t>(ip)));
}

TransportPoint insertion_point(const std::uint8_t* frame, const PacketHeaders& headers) {
  if (!headers.has(PacketHeaders::kIpv6)) return {headers.transport, headers.network + kIpv4ProtocolAt};
  return walk(frame, headers, [&](std::uint8_t type, std::uint32_t at) {
    if (type == ip_protocol::kHopByHop || type == ip_protocol::kRouting) return false;
    // Destination options before a routing header are for each router of the route.
    return type != ip_protocol::kDestination || frame[at] != ip_protocol::kRouting;
  });
}

TransportPoint point_of(const std::uint8_t* frame, const PacketHeaders& headers, std::uint32_t at) {
  if (!headers.has(PacketHeaders::kIpv6)) return {at, headers.network + kIpv4ProtocolAt};
  return walk(frame, headers, [&](std::uint8_t /*type*/, std::uint32_t here) { return here == at; });
}

}  // namespace penumbra::ipsec
