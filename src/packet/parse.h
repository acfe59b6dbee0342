// SPDX-License-Identifier: Apache-2.0
//
// The parser of packet headers. The functions are pure functions over bytes; packet/mbuf.h parses packets of DPDK.
// docs/packet.md has the rules and limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra {

inline constexpr std::size_t kEthernetHeaderBytes = 14, kTagBytes = 4, kEthertypeAt = 12;

/// The part of PacketHeaders before the network header.
struct LinkHeaders {
  std::size_t network = kEthernetHeaderBytes;  ///< 0 if the frame ends within the Ethernet header
  std::uint16_t ethertype = 0;
  std::uint16_t tci = 0;
  std::uint8_t tags = 0;
  bool is_service_tag = false;  ///< of the outermost tag
};

/// Parses Ethernet and VLAN tags. `readable` bytes are at `frame`. Returns false if the frame ends within them or has
/// too many tags; `link` then has the tags before.
inline bool parse_link(const std::uint8_t* frame, std::size_t readable, LinkHeaders& link) noexcept {
  link = {};
  if (readable < kEthernetHeaderBytes) {
    link.network = 0;
    return false;
  }
  link.ethertype = load_be16(frame + kEthertypeAt);
  link.is_service_tag = link.ethertype == ethertype::kServiceTag;
  while (ethertype::is_tag(link.ethertype)) {
    if (link.tags == PacketHeaders::kMostTags || readable < link.network + kTagBytes) return false;
    if (link.tags == 0) link.tci = load_be16(frame + link.network);
    link.ethertype = load_be16(frame + link.network + 2);
    link.network += kTagBytes;
    ++link.tags;
  }
  return true;
}

/// Parses the headers from the network header on. The header is at offset `network` and has the type `ethertype`. The
/// other parameters are those of parse_headers().
PacketHeaders parse_network(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::size_t network,
                            std::uint16_t ethertype) noexcept;

namespace detail {

/// Parses any frame.
void parse_any(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, PacketHeaders& headers) noexcept;

/// Parses a TCP or UDP packet that is whole and has no IP options. `kType` is its ethertype. Returns false for other
/// packets; `headers` is unchanged then.
template <std::uint16_t kType>
inline bool parse_plain(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, const LinkHeaders& link,
                        PacketHeaders& headers) noexcept {
  constexpr bool kIsIpv4 = kType == ethertype::kIpv4;
  constexpr std::size_t kIpBytes = kIsIpv4 ? 20 : 40, kUdpBytes = 8, kTcpBytes = 20;
  constexpr std::uint16_t kFragmentBits = __builtin_bswap16(0x3FFF);  // "more fragments" and the offset
  const std::size_t network = link.network, transport = network + kIpBytes;
  if (transport + kUdpBytes > readable) return false;
  const std::uint8_t* const ip = frame + network;
  const std::uint8_t* const header = frame + transport;
  const std::uint8_t protocol = ip[kIsIpv4 ? 9 : 6];
  const std::size_t end = (kIsIpv4 ? network : transport) + load_be16(ip + (kIsIpv4 ? 2 : 4));
  const bool is_plain =
      kIsIpv4 ? (ip[0] == 0x45) & ((load<std::uint16_t>(ip + 6) & kFragmentBits) == 0) : ip[0] >> 4 == 6;
  if (!(is_plain & (end <= bytes))) [[unlikely]]
    return false;
  std::size_t payload = 0;
  std::uint8_t tcp_flags = 0;
  if (protocol == ip_protocol::kTcp) [[likely]] {
    if (transport + kTcpBytes > readable) return false;
    const std::size_t data_offset = std::size_t{header[12]} / 16 * 4;
    payload = transport + data_offset;
    tcp_flags = header[13];
    if ((data_offset < kTcpBytes) | (payload > end)) [[unlikely]]
      return false;
  } else if (protocol == ip_protocol::kUdp) {
    const std::size_t length = load_be16(header + 4);
    payload = transport + kUdpBytes;
    if ((length < kUdpBytes) | (transport + length > end)) return false;
  } else {
    return false;
  }
  unsigned flags = (kIsIpv4 ? PacketHeaders::kIpv4 : PacketHeaders::kIpv6) | PacketHeaders::kPorts;
  if (link.is_service_tag) flags |= PacketHeaders::kServiceTag;
  headers = {.flags = static_cast<std::uint16_t>(flags),
             .protocol = protocol,
             .ethertype = kType,
             .tci = link.tci,
             .network = static_cast<std::uint16_t>(network),
             .transport = static_cast<std::uint16_t>(transport),
             .payload = static_cast<std::uint16_t>(payload),
             .end = static_cast<std::uint32_t>(end),
             .source_port = load_be16(header),
             .destination_port = load_be16(header + 2),
             .tcp_flags = tcp_flags,
             .tags = link.tags};
  return true;
}

}  // namespace detail

/// Parses the headers of an Ethernet frame. The first `readable` of the frame's `bytes` bytes are at `frame`; nothing
/// after them is read. Never fails: PacketHeaders::fault has the faults of the frame.
inline void parse_headers(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                          PacketHeaders& headers) noexcept {
  constexpr std::size_t kIpv4AndUdp = kEthernetHeaderBytes + 28;
  if (readable >= kIpv4AndUdp) [[likely]] {
    const auto type = load<std::uint16_t>(frame + kEthertypeAt);
    if (type == __builtin_bswap16(ethertype::kIpv4) &&
        detail::parse_plain<ethertype::kIpv4>(frame, readable, bytes, {}, headers)) [[likely]] {
      return;
    }
    if (type == __builtin_bswap16(ethertype::kIpv6) &&
        detail::parse_plain<ethertype::kIpv6>(frame, readable, bytes, {}, headers)) {
      return;
    }
  }
  detail::parse_any(frame, readable, bytes, headers);
}
inline PacketHeaders parse_headers(const std::uint8_t* frame, std::size_t readable, std::size_t bytes) noexcept {
  PacketHeaders headers;
  parse_headers(frame, readable, bytes, headers);
  return headers;
}

/// Parses the headers of a frame whose bytes are all in `frame`.
inline PacketHeaders parse_headers(std::span<const std::byte> frame) noexcept {
  return parse_headers(reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size(), frame.size());
}

}  // namespace penumbra
