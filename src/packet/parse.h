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

/// Parses Ethernet and VLAN tags: sets `ethertype`, `network`, `tags`, `tci`, `end` and, if the frame is cut or has too
/// many tags, `fault`. The parameters are those of parse_headers().
PacketHeaders parse_ethernet(const std::uint8_t* frame, std::size_t readable, std::size_t bytes) noexcept;

/// Parses the headers from the network header on. The header is at offset `network` and has the type `ethertype`. The
/// other parameters are those of parse_headers().
PacketHeaders parse_network(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::size_t network,
                            std::uint16_t ethertype) noexcept;

namespace detail {

/// Parses any frame.
void parse_any(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, PacketHeaders& headers) noexcept;

constexpr bool is_tag(std::uint16_t type) {
  return type == ethertype::kTag || type == ethertype::kServiceTag;
}

/// Parses a whole TCP or UDP packet without IP options and with at most one tag. Returns false for other frames;
/// `headers` is unchanged then.
inline bool parse_plain(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                        PacketHeaders& headers) noexcept {
  constexpr std::size_t kIpv4Bytes = 20, kIpv6Bytes = 40, kUdpBytes = 8, kTcpBytes = 20;
  if (readable < kEthernetHeaderBytes + kTagBytes + kIpv4Bytes + kTcpBytes) [[unlikely]] {
    return false;
  }
  std::size_t network = kEthernetHeaderBytes;
  std::uint16_t type = load_be16(frame + kEthertypeAt), tci = 0;
  std::uint8_t tags = 0;
  unsigned flags = PacketHeaders::kPorts;
  if (is_tag(type)) [[unlikely]] {
    if (type == ethertype::kServiceTag) flags |= PacketHeaders::kServiceTag;
    tci = load_be16(frame + network);
    type = load_be16(frame + network + 2);
    network += kTagBytes;
    tags = 1;
  }
  const std::uint8_t* const ip = frame + network;
  std::size_t transport = 0, end = 0;
  std::uint8_t protocol = 0;
  bool is_plain = false;
  if (type == ethertype::kIpv4) [[likely]] {
    transport = network + kIpv4Bytes;
    end = network + load_be16(ip + 2);
    protocol = ip[9];
    is_plain = (ip[0] == 0x45) & ((load_be16(ip + 6) & 0x3FFF) == 0);
    flags |= PacketHeaders::kIpv4;
  } else if (type == ethertype::kIpv6) {
    transport = network + kIpv6Bytes;
    end = transport + load_be16(ip + 4);
    protocol = ip[6];
    is_plain = ip[0] >> 4 == 6;
    flags |= PacketHeaders::kIpv6;
  }
  const bool is_tcp = protocol == ip_protocol::kTcp, is_udp = protocol == ip_protocol::kUdp;
  const std::size_t least = is_tcp ? kTcpBytes : kUdpBytes;
  if (!(is_plain & (is_tcp | is_udp) & (end <= bytes) & (transport + least <= readable))) [[unlikely]] {
    return false;
  }
  const std::uint8_t* const header = frame + transport;
  const std::size_t header_bytes = is_tcp ? std::size_t{header[12]} / 16 * 4 : kUdpBytes;
  const std::size_t length = is_tcp ? header_bytes : std::size_t{load_be16(header + 4)};
  if (!((length >= least) & (transport + length <= end))) [[unlikely]] {
    return false;
  }
  headers = {.flags = static_cast<std::uint16_t>(flags),
             .protocol = protocol,
             .ethertype = type,
             .tci = tci,
             .network = static_cast<std::uint16_t>(network),
             .transport = static_cast<std::uint16_t>(transport),
             .payload = static_cast<std::uint16_t>(transport + header_bytes),
             .end = static_cast<std::uint32_t>(end),
             .source_port = load_be16(header),
             .destination_port = load_be16(header + 2),
             .tcp_flags = is_tcp ? header[13] : std::uint8_t{0},
             .tags = tags};
  return true;
}

}  // namespace detail

/// Parses the headers of an Ethernet frame. The first `readable` of the frame's `bytes` bytes are at `frame`; nothing
/// after them is read. Never fails: PacketHeaders::fault has the faults of the frame.
inline void parse_headers(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                          PacketHeaders& headers) noexcept {
  if (!detail::parse_plain(frame, readable, bytes, headers)) detail::parse_any(frame, readable, bytes, headers);
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
