// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "functions/ipsec/esp.h"
#include "functions/ipsec/ip_fields.h"
#include "packet/checksum.h"
#include "packet/edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

constexpr std::uint32_t kMostIpBytes = 65535, kIpv6TtlAt = 7, kIpv4TtlAt = 8;
constexpr std::uint8_t kOuterTtl = 64;
constexpr std::uint8_t kEcnBits = 3;

/// Returns the traffic class of the outer header (RFC 4301, section 5.1.2; RFC 6040, section 4.1).
std::uint8_t outer_class(const SaFormat& format, std::uint8_t inner) {
  const unsigned dscp = format.clears_dscp_out ? 0U : inner & ~unsigned{kEcnBits};
  const unsigned ecn = format.ignores_ecn ? 0U : inner & unsigned{kEcnBits};
  return static_cast<std::uint8_t>(dscp | ecn);
}

void write_outer_ipv4(const SaFormat& format, const std::uint8_t* inner, bool inner_is_ipv6, std::uint32_t bytes,
                      std::uint16_t identification, std::uint8_t* to) {
  constexpr std::uint8_t kVersionAndLength = 0x45;
  // An IPv6 packet is never fragmented on its way.
  const bool has_df = !format.clears_df && (inner_is_ipv6 || (load_be16(inner + 6) & kDontFragment) != 0);
  to[0] = kVersionAndLength;
  to[1] = outer_class(format, traffic_class(inner, inner_is_ipv6));
  store_be16(to + 2, static_cast<std::uint16_t>(bytes));
  store_be16(to + 4, identification);
  store_be16(to + 6, has_df ? kDontFragment : 0);
  to[kIpv4TtlAt] = kOuterTtl;
  to[kIpv4ProtocolAt] = format.has_udp ? ip_protocol::kUdp : ip_protocol::kEsp;
  std::memcpy(to + kIpv4SourceAt, format.source.data(), 4);
  std::memcpy(to + kIpv4DestinationAt, format.destination.data(), 4);
  write_ipv4_checksum(to);
}

void write_outer_ipv6(const SaFormat& format, const std::uint8_t* inner, bool inner_is_ipv6, std::uint32_t bytes,
                      std::uint8_t* to) {
  constexpr std::uint32_t kVersion = 0x60000000;
  store_be32(to, kVersion | std::uint32_t{outer_class(format, traffic_class(inner, inner_is_ipv6))} << 20U);
  store_be16(to + 4, static_cast<std::uint16_t>(bytes - kIpv6Bytes));
  to[kIpv6NextHeaderAt] = format.has_udp ? ip_protocol::kUdp : ip_protocol::kEsp;
  to[kIpv6TtlAt] = kOuterTtl;
  std::memcpy(to + kIpv6SourceAt, format.source.data(), 16);
  std::memcpy(to + kIpv6DestinationAt, format.destination.data(), 16);
}

}  // namespace

EspFault plan_seal(const SaFormat& format, const std::uint8_t* frame, const PacketHeaders& headers, Aging aging,
                   SealPlan& plan) {
  plan = {};
  const bool is_ipv6 = headers.has(PacketHeaders::kIpv6);
  std::uint32_t ip_bytes = 0;  // Of the new packet, before UDP and ESP.
  if (format.is_tunnel) {
    plan.ages = aging == Aging::ages;
    if (plan.ages && frame[headers.network + (is_ipv6 ? kIpv6TtlAt : kIpv4TtlAt)] <= 1) return EspFault::ttl;
    plan.payload_at = headers.network;
    plan.next_header = is_ipv6 ? kProtocolIpv6 : kProtocolIpv4;
    ip_bytes = format.is_ipv6 ? kIpv6Bytes : kIpv4Bytes;
  } else {
    if (is_ipv6 != format.is_ipv6 || headers.has(PacketHeaders::kFragment)) return EspFault::not_transportable;
    const TransportPoint point = insertion_point(frame, headers);
    plan.payload_at = point.at;
    plan.next_header_at = static_cast<std::uint16_t>(point.next_header_at);
    plan.next_header = frame[point.next_header_at];
    ip_bytes = plan.payload_at - headers.network;
  }
  plan.payload_bytes = headers.end - plan.payload_at;
  const std::uint32_t least = format.is_tunnel ? std::min(format.tfc_bytes, kMostIpBytes) : 0;
  const std::uint32_t bytes = std::max(plan.payload_bytes, least) + kTrailerEndBytes;
  const std::uint32_t padded = (bytes + format.alignment - 1) / format.alignment * format.alignment;
  plan.trailer_bytes = padded - plan.payload_bytes;
  const std::uint32_t udp = format.has_udp ? kUdpHeaderBytes : 0;
  plan.head_bytes = headers.network + ip_bytes + udp;
  plan.esp_bytes = kEspHeaderBytes + format.iv_bytes + padded + format.tag_bytes;
  return ip_bytes + udp + plan.esp_bytes > kMostIpBytes ? EspFault::too_long : EspFault::none;
}

void write_trailer(const SaFormat& format, const SealPlan& plan, std::uint8_t* trailer) {
  // TFC padding is part of the payload. The padding of ESP follows, shorter than the alignment.
  const std::uint32_t least = format.is_tunnel ? std::min(format.tfc_bytes, kMostIpBytes) : 0;
  const std::uint32_t tfc = plan.payload_bytes < least ? least - plan.payload_bytes : 0;
  const std::uint32_t padding = plan.trailer_bytes - tfc - kTrailerEndBytes;
  std::memset(trailer, 0, tfc);
  for (std::uint32_t i = 0; i < padding; ++i) trailer[tfc + i] = static_cast<std::uint8_t>(i + 1);
  trailer[tfc + padding] = static_cast<std::uint8_t>(padding);
  trailer[tfc + padding + 1] = plan.next_header;
}

void decrement_inner(std::uint8_t* frame, const PacketHeaders& headers) {
  if (headers.has(PacketHeaders::kIpv6)) {
    decrement_hop_limit(frame + headers.network);
  } else {
    decrement_ttl(frame + headers.network);
  }
}

void write_seal_head(const SaFormat& format, const SealPlan& plan, const std::uint8_t* frame,
                     const PacketHeaders& headers, std::uint16_t identification, std::uint8_t* to) {
  const std::uint32_t network = headers.network, udp = format.has_udp ? kUdpHeaderBytes : 0;
  const std::uint32_t ip_bytes = plan.head_bytes - network - udp, bytes = ip_bytes + udp + plan.esp_bytes;
  std::uint8_t* const ip = to + network;
  if (format.is_tunnel) {
    std::memcpy(to, frame, network);
    store_be16(ip - 2, format.is_ipv6 ? ethertype::kIpv6 : ethertype::kIpv4);
    const bool inner_is_ipv6 = headers.has(PacketHeaders::kIpv6);
    if (format.is_ipv6) {
      write_outer_ipv6(format, frame + network, inner_is_ipv6, bytes, ip);
    } else {
      write_outer_ipv4(format, frame + network, inner_is_ipv6, bytes, identification, ip);
    }
  } else {
    std::memcpy(to, frame, network + ip_bytes);
    to[plan.next_header_at] = format.has_udp ? ip_protocol::kUdp : ip_protocol::kEsp;
    if (format.is_ipv6) {
      store_be16(ip + 4, static_cast<std::uint16_t>(bytes - kIpv6Bytes));
    } else {
      store_be16(ip + 2, static_cast<std::uint16_t>(bytes));
      write_ipv4_checksum(ip);
    }
  }
  if (!format.has_udp) return;
  const std::uint32_t length = udp + plan.esp_bytes;
  std::uint8_t* const header = ip + ip_bytes;
  store_be16(header, format.source_port);
  store_be16(header + 2, format.destination_port);
  store_be16(header + 4, static_cast<std::uint16_t>(length));
  store_be16(header + 6, 0);
  if (!format.is_ipv6) return;  // RFC 3948, section 2.1: IPv4 needs no checksum.
  const std::uint64_t sum = ipv6_pseudo_sum(ip, ip_protocol::kUdp, length) + ones_sum(header, length);
  store(header + 6, nonzero_checksum_of(sum));
}

}  // namespace penumbra::ipsec
