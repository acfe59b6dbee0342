// SPDX-License-Identifier: Apache-2.0
//
// Computes a hash over the fields that identify a packet's flow.
#pragma once

#include <nmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"

namespace penumbra {

namespace detail {

/// Spreads small differences into the high bits, which CRC-32C does badly. Returns the upper half of a product.
inline std::uint32_t finish(std::uint64_t crc) {
  return static_cast<std::uint32_t>((crc * 0x9E3779B97F4A7C15U) >> 32);
}

}  // namespace detail

/// The protocols whose ports enter the hash. Fragments have no ports, so fragments and whole datagrams of a flow hash
/// alike only without ports. Senders let UDP be fragmented, but discover the path MTU for TCP and SCTP.
enum class FlowPorts { tcp_and_sctp, udp_too };

namespace detail {

inline bool has_ports(std::uint8_t protocol, FlowPorts ports) {
  constexpr std::uint8_t kTcp = 6, kUdp = 17, kSctp = 132, kUdpLite = 136;
  return protocol == kTcp || protocol == kSctp ||
         (ports == FlowPorts::udp_too && (protocol == kUdp || protocol == kUdpLite));
}

}  // namespace detail

/// Returns the hash of an IPv4 packet: addresses, protocol and, unless the packet is a fragment, the ports of protocols
/// in `ports`. `header` points to a validated header; `bytes` counts from there to the end of the captured packet. Two
/// uses of the hash on one path must take different seeds. Otherwise the second use sees only part of the hash values.
inline std::uint32_t ipv4_flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed,
                                    FlowPorts ports) {
  const std::uint8_t protocol = header[9];
  const std::size_t ports_at = static_cast<std::size_t>(header[0] & 0xF) * 4;
  const bool fragment = (header[6] & 0x3F) != 0 || header[7] != 0;  // True for more fragments, or an offset.
  std::uint64_t crc = _mm_crc32_u64(seed, load<std::uint64_t>(header + 12));
  std::uint64_t rest = protocol;
  if (!fragment && detail::has_ports(protocol, ports) && ports_at + 4 <= bytes) {
    rest |= std::uint64_t{load<std::uint32_t>(header + ports_at)} << 32;
  }
  return detail::finish(_mm_crc32_u64(crc, rest));
}

/// Returns the hash of an IPv6 packet: addresses, protocol (after a fragment header too) and ports that directly follow
/// the header. `header` points to its 40 bytes; `bytes` counts from there to the end of the captured packet.
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

/// Returns the hash of addresses and flow label, or ipv6_flow_hash() if the label is 0. The label identifies a flow in
/// fragments and after extension headers too (RFC 6437, section 2; RFC 6438, section 3).
inline std::uint32_t ipv6_labelled_flow_hash(const std::uint8_t* header, std::size_t bytes, std::uint32_t seed,
                                             FlowPorts ports) {
  const std::uint32_t label = load_be32(header) & 0xFFFFF;
  if (label == 0) return ipv6_flow_hash(header, bytes, seed, ports);
  std::uint64_t crc = seed;
  for (std::size_t at = 8; at < 40; at += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(header + at));
  return detail::finish(_mm_crc32_u64(crc, std::uint64_t{label} << 32));
}

/// Returns the hash of an Ethernet frame, equal for all frames of a flow.
///
/// - IPv4: like ipv4_flow_hash() with the ports of TCP and SCTP.
/// - IPv6: like ipv6_flow_hash() with the ports of TCP and SCTP.
/// - Others: MAC addresses and ethertype.
///
/// A frame of under 14 bytes hashes to the seed. A TCP or SCTP flow has two hashes if some of its packets are
/// fragments.
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
