// SPDX-License-Identifier: Apache-2.0
#include "functions/ipsec/too_big.h"

#include <algorithm>
#include <cstring>

#include "functions/ipsec/ip_fields.h"
#include "packet/checksum.h"
#include "penumbra/bytes.h"

namespace penumbra::ipsec {
namespace {

constexpr std::uint32_t kMacBytes = 6, kIcmpBytes = 8;
constexpr std::uint32_t kMostQuotedIpv4 = 548, kMostIpv6Error = 1280;  // RFC 1812, 4.3.2.3; RFC 4443, 2.4
constexpr std::uint8_t kErrorTtl = 64;

/// True for sources that identify no single host, and for ICMP errors.
bool may_not_be_told(const std::uint8_t* frame, const PacketHeaders& headers) {
  const std::uint8_t* const source = source_at(frame, headers);
  if (headers.has(PacketHeaders::kLaterFragment) || (frame[kMacBytes] & 1U) != 0) return true;
  if (headers.has(PacketHeaders::kIpv6)) {
    const bool is_error = headers.has(PacketHeaders::kIcmp) && headers.icmp_type < 128;
    return is_error || source[0] == 0xFF ||
           std::all_of(source, source + 16, [](std::uint8_t byte) { return byte == 0; });
  }
  const bool is_query = headers.icmp_type == 0 || headers.icmp_type == 8 || headers.icmp_type >= 13;
  return (headers.has(PacketHeaders::kIcmp) && !is_query) || source[0] == 0 || source[0] >= 0xE0;
}

}  // namespace

std::uint32_t write_too_big(const std::uint8_t* frame, std::uint32_t readable, const PacketHeaders& headers,
                            const std::uint8_t* own, std::uint16_t mtu, std::span<std::uint8_t, kMostErrorBytes> to) {
  const bool is_ipv6 = headers.has(PacketHeaders::kIpv6);
  const std::uint32_t network = headers.network, ip_bytes = is_ipv6 ? kIpv6Bytes : kIpv4Bytes;
  const std::uint32_t wanted = is_ipv6 ? kMostIpv6Error - kIpv6Bytes - kIcmpBytes : kMostQuotedIpv4;
  const auto room = static_cast<std::uint32_t>(to.size());
  if (may_not_be_told(frame, headers) || network + ip_bytes + kIcmpBytes >= room) return 0;
  const std::uint32_t most = std::min(wanted, room - network - ip_bytes - kIcmpBytes);
  const std::uint32_t quoted = std::min({readable, headers.end, network + most}) - network;
  std::memcpy(to.data(), frame + kMacBytes, kMacBytes);
  std::memcpy(to.data() + kMacBytes, frame, kMacBytes);
  std::memcpy(to.data() + std::size_t{2} * kMacBytes, frame + std::size_t{2} * kMacBytes, network - 2 * kMacBytes);
  std::uint8_t* const ip = to.data() + network;
  std::uint8_t* const icmp = ip + ip_bytes;
  std::memset(ip, 0, ip_bytes + kIcmpBytes);
  std::memcpy(icmp + kIcmpBytes, frame + network, quoted);
  const std::uint32_t icmp_bytes = kIcmpBytes + quoted;
  if (is_ipv6) {
    constexpr std::uint8_t kVersion = 0x60, kPacketTooBig = 2;
    ip[0] = kVersion;
    store_be16(ip + 4, static_cast<std::uint16_t>(icmp_bytes));
    ip[kIpv6NextHeaderAt] = ip_protocol::kIcmpv6;
    ip[7] = kErrorTtl;
    std::memcpy(ip + kIpv6SourceAt, own, 16);
    std::memcpy(ip + kIpv6DestinationAt, source_at(frame, headers), 16);
    icmp[0] = kPacketTooBig;
    store_be32(icmp + 4, mtu);
    store(icmp + 2, checksum_of(ipv6_pseudo_sum(ip, ip_protocol::kIcmpv6, icmp_bytes) + ones_sum(icmp, icmp_bytes)));
  } else {
    constexpr std::uint8_t kVersionAndLength = 0x45, kUnreachable = 3, kFragmentationNeeded = 4;
    ip[0] = kVersionAndLength;
    store_be16(ip + 2, static_cast<std::uint16_t>(ip_bytes + icmp_bytes));
    ip[8] = kErrorTtl;
    ip[kIpv4ProtocolAt] = ip_protocol::kIcmp;
    std::memcpy(ip + kIpv4SourceAt, own, 4);
    std::memcpy(ip + kIpv4DestinationAt, source_at(frame, headers), 4);
    write_ipv4_checksum(ip);
    icmp[0] = kUnreachable;
    icmp[1] = kFragmentationNeeded;
    store_be16(icmp + 6, mtu);
    store(icmp + 2, checksum_of(ones_sum(icmp, icmp_bytes)));
  }
  return network + ip_bytes + icmp_bytes;
}

}  // namespace penumbra::ipsec
