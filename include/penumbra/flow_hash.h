// SPDX-License-Identifier: Apache-2.0
//
// A hash of what makes packets one flow.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"

namespace penumbra {

namespace detail {

/// CRC-32C spreads badly into its high bits from a small difference; a multiplication mends that.
inline std::uint32_t finish(std::uint64_t crc) {
  return static_cast<std::uint32_t>((crc * 0x9E3779B97F4A7C15U) >> 32);
}

}  // namespace detail

/// Whose ports count. A fragment has none, so where a datagram is fragmented and the next one of its flow is not, they
/// hash alike only without ports. Senders let UDP be fragmented, and find out the path's MTU for TCP and SCTP.
enum class FlowPorts { tcp_and_sctp, udp_too };

namespace detail {

inline bool has_ports(std::uint8_t protocol, FlowPorts ports) {
  constexpr std::uint8_t kTcp = 6, kUdp = 17, kSctp = 132, kUdpLite = 136;
  return protocol == kTcp || protocol == kSctp ||
         (ports == FlowPorts::udp_too && (protocol == kUdp || protocol == kUdpLite));
}

}  // namespace detail

/// Of an IPv4 packet: `header` points to a validated header, `bytes` to the end of what was captured of the packet.
/// Addresses and protocol, and where they count and the packet is no fragment the ports. Two uses of the hash on one
/// path take different seeds, or the second would see only part of its values.
inline std::uint32_t ipv4_flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed,
                                    FlowPorts ports) {
  const std::uint8_t protocol = header[9];
  const std::size_t ports_at = static_cast<std::size_t>(header[0] & 0xF) * 4;
  const bool fragment = (header[6] & 0x3F) != 0 || header[7] != 0;  // more fragments, or an offset
  std::uint64_t crc = _mm_crc32_u64(seed, load<std::uint64_t>(header + 12));
  std::uint64_t rest = protocol;
  if (!fragment && detail::has_ports(protocol, ports) && ports_at + 4 <= bytes) {
    rest |= std::uint64_t{load<std::uint32_t>(header + ports_at)} << 32;
  }
  return detail::finish(_mm_crc32_u64(crc, rest));
}

/// Of an IPv6 packet: `header` points to its 40 bytes, `bytes` to the end of what was captured of the packet. Addresses
/// and protocol (behind a fragment header too) and, where they count and follow at once, the ports.
inline std::uint32_t ipv6_flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed,
                                    FlowPorts ports) {
  constexpr std::size_t kHeader = 40;
  constexpr std::uint8_t kFragment = 44;
  std::uint64_t crc = seed;
  for (std::size_t at = 8; at < kHeader; at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(header + at));
  const bool fragment = header[6] == kFragment && bytes > kHeader;
  std::uint64_t rest = fragment ? header[kHeader] : header[6];
  if (!fragment && detail::has_ports(header[6], ports) && bytes >= kHeader + 4) {
    rest |= std::uint64_t{load<std::uint32_t>(header + kHeader)} << 32;
  }
  return detail::finish(_mm_crc32_u64(crc, rest));
}

/// The same, but of a packet with a flow label by addresses and label alone: the sender says what is a flow, also of
/// fragments and behind extension headers (RFC 6437, section 2; RFC 6438, section 3).
inline std::uint32_t ipv6_labelled_flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed,
                                             FlowPorts ports) {
  const std::uint32_t label = load_be32(header) & 0xFFFFF;
  if (label == 0) return ipv6_flow_hash(header, bytes, seed, ports);
  std::uint64_t crc = seed;
  for (std::size_t at = 8; at < 40; at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(header + at));
  return detail::finish(_mm_crc32_u64(crc, std::uint64_t{label} << 32));
}

/// Of an Ethernet frame, the same for all frames of a flow: IPv4 as above with the ports of TCP and SCTP; IPv6 by
/// addresses, protocol (behind a fragment header too) and, where they follow at once, those ports; anything else by its
/// MAC addresses and ethertype. A frame of under 14 bytes hashes to the seed. Only a flow of TCP or SCTP some of whose
/// packets were fragmented on their way has two hashes.
inline std::uint32_t frame_flow_hash(const std::uint8_t* frame, std::size_t bytes, std::uint32_t seed) {
  constexpr std::size_t kEthernet = 14, kIpv4 = 20, kIpv6 = 40;
  if (bytes < kEthernet) return seed;
  const unsigned ethertype = load_be16(frame + 12);
  const std::uint8_t* packet = frame + kEthernet;
  if (ethertype == 0x0800 && bytes >= kEthernet + kIpv4) {
    return ipv4_flow_hash(packet, bytes - kEthernet, seed, FlowPorts::tcp_and_sctp);
  }
  if (ethertype == 0x86DD && bytes >= kEthernet + kIpv6) {
    return ipv6_flow_hash(packet, bytes - kEthernet, seed, FlowPorts::tcp_and_sctp);
  }
  std::uint64_t crc = _mm_crc32_u64(seed, load<std::uint64_t>(frame));
  return detail::finish(_mm_crc32_u64(crc, load<std::uint32_t>(frame + 8) | std::uint64_t{ethertype} << 32));
}

}  // namespace penumbra
