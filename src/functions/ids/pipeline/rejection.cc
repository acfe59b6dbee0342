// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/pipeline/rejection.h"

#include <algorithm>
#include <cstring>

#include "packet/checksum.h"
#include "penumbra/bytes.h"

namespace penumbra::ids {
namespace {

constexpr std::size_t kMacBytes = 6, kIpv4Bytes = 20, kIpv6Bytes = 40, kTcpBytes = 20, kIcmpBytes = 8;
constexpr std::size_t kMostQuoted = 128;  // RFC 792 wants the IP header and 8 bytes.
constexpr std::uint8_t kFin = 1, kSyn = 2, kReset = 4, kAck = 16;
constexpr std::uint8_t kTtl = 64;

/// Returns false for a packet to several stations, or from none.
bool is_between_two(const std::uint8_t* frame, const PacketHeaders& headers) {
  if ((frame[0] & 1) != 0) return false;
  const std::uint8_t* const ip = frame + headers.network;
  const auto is_no_host = [](std::uint8_t first) { return first == 0 || first >= 0xE0; };
  if (headers.has(PacketHeaders::kIpv4)) return !is_no_host(ip[12]) && !is_no_host(ip[16]);
  return ip[8] != 0xFF && ip[24] != 0xFF && load_be64(ip + 8) != 0;
}

bool may_have_icmp_error(const PacketHeaders& headers) {
  if (headers.has(PacketHeaders::kLaterFragment)) return false;
  if (headers.protocol == ip_protocol::kIcmp) return headers.icmp_type == 8;
  return headers.protocol != ip_protocol::kIcmpv6 || headers.icmp_type >= 128;
}

/// Writes the header of IP, whose payload has `bytes` bytes, and returns its length.
std::size_t write_network(const std::uint8_t* ip, bool is_ipv6, bool is_swapped, std::uint8_t protocol,
                          std::size_t bytes, std::uint8_t* out) {
  const std::size_t address = is_ipv6 ? 16 : 4, first = is_ipv6 ? 8 : 12;
  const std::size_t header = is_ipv6 ? kIpv6Bytes : kIpv4Bytes;
  std::memset(out, 0, header);
  if (is_ipv6) {
    out[0] = 0x60;
    store_be16(out + 4, static_cast<std::uint16_t>(bytes));
    out[6] = protocol;
    out[7] = kTtl;
  } else {
    out[0] = 0x45;
    store_be16(out + 2, static_cast<std::uint16_t>(header + bytes));
    out[6] = 0x40;  // do not fragment
    out[8] = kTtl;
    out[9] = protocol;
  }
  std::memcpy(out + first, ip + first + (is_swapped ? address : 0), address);
  std::memcpy(out + first + address, ip + first + (is_swapped ? 0 : address), address);
  if (!is_ipv6) write_ipv4_checksum(out);
  return header;
}

/// Writes the RST that the packet's receiver would send, or the one that its sender would send.
void write_reset(const std::uint8_t* tcp, std::size_t payload, RejectionTo to, std::uint8_t* out) {
  const std::uint8_t flags = tcp[13];
  const std::uint32_t sequence = load_be32(tcp + 4), acknowledged = load_be32(tcp + 8);
  const bool to_source = to == RejectionTo::source;
  std::memset(out, 0, kTcpBytes);
  std::memcpy(out, tcp + (to_source ? 2 : 0), 2);
  std::memcpy(out + 2, tcp + (to_source ? 0 : 2), 2);
  out[12] = kTcpBytes / 4 << 4;
  out[13] = kReset;
  if (to_source && (flags & kAck) != 0) {  // RFC 9293, 3.10.7.1
    store_be32(out + 4, acknowledged);
    return;
  }
  out[13] |= kAck;
  store_be32(out + 4, to_source ? 0 : sequence);
  const auto length =
      static_cast<std::uint32_t>(payload + ((flags & kSyn) != 0 ? 1 : 0) + ((flags & kFin) != 0 ? 1 : 0));
  store_be32(out + 8, to_source ? sequence + length : acknowledged);
}

}  // namespace

std::size_t write_rejection(std::span<const std::uint8_t> frame, const PacketHeaders& headers, RejectionTo to,
                            std::span<std::uint8_t, kMostRejectionBytes> out) {
  const bool is_ipv6 = headers.has(PacketHeaders::kIpv6), to_source = to == RejectionTo::source;
  const bool is_tcp = headers.protocol == ip_protocol::kTcp && !headers.has(PacketHeaders::kLaterFragment);
  if (!is_between_two(frame.data(), headers)) return 0;
  if (is_tcp ? (headers.tcp_flags & kReset) != 0 : !to_source || !may_have_icmp_error(headers)) return 0;
  const std::uint8_t* const ip = frame.data() + headers.network;
  const std::size_t end = std::min<std::size_t>(headers.end, frame.size());
  const std::size_t quoted = std::min(end - headers.network, kMostQuoted);
  const std::size_t bytes = is_tcp ? kTcpBytes : kIcmpBytes + quoted;
  const std::uint8_t protocol = is_tcp ? ip_protocol::kTcp : is_ipv6 ? ip_protocol::kIcmpv6 : ip_protocol::kIcmp;
  if (headers.network + kIpv6Bytes + bytes > out.size()) return 0;
  std::memcpy(out.data(), frame.data(), headers.network);  // with the tags
  if (to_source) {
    std::memcpy(out.data(), frame.data() + kMacBytes, kMacBytes);
    std::memcpy(out.data() + kMacBytes, frame.data(), kMacBytes);
  }
  std::uint8_t* const network = out.data() + headers.network;
  const std::size_t header = write_network(ip, is_ipv6, to_source, protocol, bytes, network);
  std::uint8_t* const transport = network + header;
  if (is_tcp) {
    write_reset(frame.data() + headers.transport, end - std::min<std::size_t>(end, headers.payload), to, transport);
  } else {
    std::memset(transport, 0, kIcmpBytes);
    transport[0] = is_ipv6 ? 1 : 3;  // unreachable
    transport[1] = is_ipv6 ? 4 : 3;  // port
    std::memcpy(transport + kIcmpBytes, ip, quoted);
  }
  const std::uint64_t pseudo = is_ipv6  ? ipv6_pseudo_sum(network, protocol, bytes)
                               : is_tcp ? ipv4_pseudo_sum(network, protocol, bytes)
                                        : 0;
  store(transport + (is_tcp ? 16 : 2), checksum_of(pseudo + ones_sum(transport, bytes)));
  return headers.network + header + bytes;
}

}  // namespace penumbra::ids
