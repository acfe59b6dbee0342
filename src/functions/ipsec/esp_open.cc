// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "functions/ipsec/esp.h"
#include "functions/ipsec/ip_fields.h"
#include "packet/checksum.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

enum Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

/// Returns the ECN field of the inner packet after the tunnel (RFC 6040, section 4.2), or nothing for a drop.
std::optional<std::uint8_t> inner_ecn(std::uint8_t outer, std::uint8_t inner) {
  if (outer == kCe) return inner == kNotEct ? std::nullopt : std::optional<std::uint8_t>(kCe);
  return outer == kEct1 && inner == kEct0 ? std::uint8_t{kEct1} : inner;
}

/// Returns the length of the IP packet at `ip`, or 0 if its header contradicts `next_header` or the `bytes` there.
std::uint32_t inner_bytes(std::uint8_t next_header, const std::uint8_t* ip, std::uint32_t bytes) {
  if (next_header == kProtocolIpv4) {
    if (bytes < kIpv4Bytes || ip[0] >> 4 != 4) return 0;
    const std::uint32_t header = (ip[0] & 0xFU) * 4, total = load_be16(ip + 2);
    return header < kIpv4Bytes || total < header || total > bytes ? 0 : total;
  }
  if (next_header != kProtocolIpv6 || bytes < kIpv6Bytes || ip[0] >> 4 != 6) return 0;
  const std::uint32_t total = kIpv6Bytes + load_be16(ip + 4);
  return total > bytes ? 0 : total;
}

EspFault finish_tunnel(const SaFormat& format, std::uint8_t next_header, const std::uint8_t* frame,
                       const PacketHeaders& headers, std::uint8_t* to, std::uint32_t bytes,
                       std::uint32_t& frame_bytes) {
  std::uint8_t* const ip = to + headers.network;
  const std::uint32_t length = inner_bytes(next_header, ip, bytes);
  if (length == 0) return EspFault::bad_inner;
  const bool is_ipv6 = next_header == kProtocolIpv6;
  const std::uint8_t before = traffic_class(ip, is_ipv6);
  const std::uint8_t outer = traffic_class(frame + headers.network, headers.has(PacketHeaders::kIpv6));
  std::uint8_t after = before;
  if (format.copies_dscp_in) after = static_cast<std::uint8_t>((outer & 0xFCU) | (after & 3U));
  if (!format.ignores_ecn) {
    const auto ecn = inner_ecn(outer & 3U, after & 3U);
    if (!ecn) return EspFault::bad_ecn;
    after = static_cast<std::uint8_t>((after & 0xFCU) | *ecn);
  }
  if (after != before) set_traffic_class(ip, is_ipv6, after);
  std::memcpy(to, frame, headers.network);
  store_be16(ip - 2, is_ipv6 ? ethertype::kIpv6 : ethertype::kIpv4);
  frame_bytes = headers.network + length;
  return EspFault::none;
}

}  // namespace

EspFault plan_open(const SaFormat& format, const PacketHeaders& headers, std::uint32_t esp_at, OpenPlan& plan) {
  plan = {};
  plan.esp_at = esp_at;
  plan.esp_bytes = headers.end - esp_at;
  const std::uint32_t around = kEspHeaderBytes + format.iv_bytes + format.tag_bytes;
  if (plan.esp_bytes < around + kTrailerEndBytes) return EspFault::cut;
  if ((plan.esp_bytes - around) % format.alignment != 0) return EspFault::cut;
  plan.head_bytes = format.is_tunnel ? headers.network : headers.transport;
  return EspFault::none;
}

EspFault finish_open(const SaFormat& format, const OpenPlan& plan, const std::uint8_t* frame,
                     const PacketHeaders& headers, std::uint8_t* to, std::uint32_t bytes, std::uint32_t& frame_bytes) {
  std::uint8_t* const payload = to + plan.head_bytes;
  if (bytes < kTrailerEndBytes) return EspFault::bad_pad;
  const std::uint32_t padding = payload[bytes - 2], all = bytes - kTrailerEndBytes;
  const std::uint8_t next_header = payload[bytes - 1];
  if (padding > all) return EspFault::bad_pad;
  const std::uint32_t length = all - padding;
  for (std::uint32_t i = 0; i < padding; ++i) {
    if (payload[length + i] != i + 1) return EspFault::bad_pad;
  }
  if (next_header == ip_protocol::kNoNextHeader) return EspFault::dummy;
  if (format.is_tunnel) return finish_tunnel(format, next_header, frame, headers, to, length, frame_bytes);
  const TransportPoint point = point_of(frame, headers, headers.transport);
  std::memcpy(to, frame, headers.transport);
  to[point.next_header_at] = next_header;
  std::uint8_t* const ip = to + headers.network;
  const std::uint32_t ip_bytes = headers.transport - headers.network + length;
  if (headers.has(PacketHeaders::kIpv6)) {
    store_be16(ip + 4, static_cast<std::uint16_t>(ip_bytes - kIpv6Bytes));
  } else {
    store_be16(ip + 2, static_cast<std::uint16_t>(ip_bytes));
    write_ipv4_checksum(ip);
  }
  frame_bytes = headers.transport + length;
  return EspFault::none;
}

}  // namespace penumbra::ipsec
