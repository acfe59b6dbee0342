// SPDX-License-Identifier: Apache-2.0
//
// Computes a hash over the fields that identify a packet's flow.
#pragma once

#include <nmmintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "penumbra/bytes.h"
#include "penumbra/packet.h"

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

/// Returns a hash of a packet's flow that is the same in both directions.
///
/// - Packets with ports of protocols in `ports`: addresses, protocol and ports.
/// - ESP: addresses, protocol and SPI. Each direction of ESP has an SPI and a hash of its own.
/// - Other IP packets, and all fragments: addresses only, because later fragments of IPv6 may lack the protocol.
/// - Other frames: MAC addresses and ethertype. A frame of under 14 bytes hashes to the seed.
///
/// Two uses of the hash on one path must take different seeds. `frame` points to the frame that `headers` describes.
/// Its Ethernet and IP headers must be contiguous; packet/mbuf.h has a variant without that condition.
inline std::uint32_t symmetric_flow_hash(const PacketHeaders& headers, const std::uint8_t* frame, std::uint32_t seed,
                                         FlowPorts ports) {
  constexpr unsigned kProtocolAt = 48;
  const bool is_whole = !headers.has(PacketHeaders::kFragment);
  const bool by_ports = is_whole && headers.has(PacketHeaders::kPorts) && detail::has_ports(headers.protocol, ports);
  const std::uint32_t spi = is_whole ? headers.spi : 0;
  const std::uint64_t protocol = by_ports || spi != 0 ? std::uint64_t{headers.protocol} << kProtocolAt : 0;
  const std::uint64_t source_port = by_ports ? headers.source_port : 0;
  const std::uint64_t destination_port = by_ports ? headers.destination_port : 0;
  const std::uint8_t* const ip = frame + headers.network;
  if (headers.has(PacketHeaders::kIpv4)) {
    const std::uint64_t source = std::uint64_t{load_be32(ip + 12)} << 16 | source_port;
    const std::uint64_t destination = std::uint64_t{load_be32(ip + 16)} << 16 | destination_port;
    const std::uint64_t crc = _mm_crc32_u64(seed, std::min(source, destination) | spi >> 16);
    return detail::finish(_mm_crc32_u64(crc, std::max(source, destination) | (spi & 0xFFFF) | protocol));
  }
  if (headers.has(PacketHeaders::kIpv6)) {
    using End = std::pair<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;
    const End source{{load_be64(ip + 8), load_be64(ip + 16)}, source_port};
    const End destination{{load_be64(ip + 24), load_be64(ip + 32)}, destination_port};
    const bool is_swapped = destination < source;
    const End& first = is_swapped ? destination : source;
    const End& second = is_swapped ? source : destination;
    std::uint64_t crc = _mm_crc32_u64(seed, first.first.first);
    crc = _mm_crc32_u64(crc, first.first.second);
    crc = _mm_crc32_u64(crc, second.first.first);
    crc = _mm_crc32_u64(crc, second.first.second);
    return detail::finish(_mm_crc32_u64(crc, first.second << 16 | second.second | spi | protocol));
  }
  if (headers.network == 0) return seed;
  const std::uint64_t destination = load_be64(frame) >> 16, source = load_be64(frame + 6) >> 16;
  const std::uint64_t crc = _mm_crc32_u64(seed, std::min(source, destination));
  return detail::finish(_mm_crc32_u64(crc, std::max(source, destination) | std::uint64_t{headers.ethertype} << 48));
}

}  // namespace penumbra
