// SPDX-License-Identifier: Apache-2.0
//
// Reads the 12 fields of a frame (OpenFlow 1.0, section 3.4 and Table 3) and the positions of its headers. The
// functions only read bytes. Where the specification is silent, they follow the OpenFlow 1.0 mode of Open vSwitch:
//
// - The outermost tag (0x8100 or 0x88A8) is the tag of the frame. The ethertype follows it, even if it is the type of
//   another tag.
// - IEEE 802.3: after a length, the ethertype is that of LLC and SNAP with the organisation 0. Without such a header
//   the ethertype is 0x05FF.
// - The fields of an invalid or incomplete IPv4 header are 0. So are ports of an incomplete transport header.
// - Fragments have no ports, including the first fragment ("frag=normal").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"
#include "penumbra/rule.h"
#include "tables/rules/rules.shader.h"

namespace penumbra::gswitch {

inline constexpr std::size_t kEthernetBytes = 14, kTagBytes = 4, kTypeAt = 12;
inline constexpr std::uint16_t kTagType = 0x8100, kServiceTagType = 0x88A8;
inline constexpr std::uint16_t kIpv4Type = 0x0800, kArpType = 0x0806, kRarpType = 0x8035, kNoType = 0x05FF;
inline constexpr std::uint16_t kLeastType = 0x0600;  ///< smaller values are lengths
inline constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kSctp = 132;

/// Holds the positions of the headers, from the first byte of the frame. 0 means that the frame has no complete header
/// of this kind.
struct PacketLayers {
  std::uint16_t ethertype = 0;
  bool is_tagged = false;
  std::size_t ipv4 = 0;
  std::size_t tcp = 0, udp = 0;  ///< of whole packets and of first fragments
  bool has_ports = false;        ///< true if the ports of the TCP or UDP header can be set
};

namespace detail {

inline std::uint64_t mac_at(const std::uint8_t* bytes) {
  return std::uint64_t{load_be32(bytes)} << 16 | load_be16(bytes + 4);
}

/// Returns the minimum size of a transport header, or 0 if the protocol has no ports.
constexpr std::size_t transport_bytes(std::uint8_t protocol) {
  switch (protocol) {
    case kTcp:
      return 20;
    case kUdp:
    case kIcmp:
      return 8;
    case kSctp:
      return 12;
    default:
      return 0;
  }
}

/// Reads an IPv4 header at offset `at`. `readable` of the frame's `bytes` bytes are accessible.
inline void read_ipv4(const std::uint8_t* frame, std::size_t at, std::size_t readable, std::size_t bytes,
                      rules_key& key, PacketLayers& layers) {
  constexpr std::uint16_t kOffset = 0x1FFF, kMoreFragments = 0x2000;
  if (at + 20 > readable) return;
  const std::uint8_t* const header = frame + at;
  const std::size_t length = std::size_t{header[0] & 0xFU} * 4, total = load_be16(header + 2);
  if (header[0] >> 4 != 4 || length < 20 || total < length || at + total > bytes || at + length > readable) return;
  layers.ipv4 = at;
  const std::uint8_t protocol = header[9];
  key.word[2] = load_be64(header + 12);
  key.word[4] = std::uint64_t{protocol} << kProtocolShift | std::uint64_t{header[1] & 0xFCU} << kTosShift;
  const std::size_t transport = at + length, end = std::min(at + total, readable);
  const std::size_t least = transport_bytes(protocol);
  const std::uint16_t fragment = load_be16(header + 6);
  if (least == 0 || (fragment & kOffset) != 0 || transport + least > end) return;
  if (protocol == kTcp) layers.tcp = transport;
  if (protocol == kUdp) layers.udp = transport;
  const std::size_t own = protocol == kTcp ? std::size_t{frame[transport + 12]} / 16 * 4 : least;
  if (own < least || transport + own > end) return;
  layers.has_ports = protocol == kTcp || protocol == kUdp;
  if ((fragment & kMoreFragments) != 0) return;
  const std::uint8_t* const ports = frame + transport;
  const std::uint64_t source = protocol == kIcmp ? ports[0] : load_be16(ports);
  const std::uint64_t destination = protocol == kIcmp ? ports[1] : load_be16(ports + 2);
  key.word[4] |= source << kSourcePortShift | destination << kDestinationPortShift;
}

/// Reads ARP for Ethernet and IPv4 (RFC 826).
inline void read_arp(const std::uint8_t* frame, std::size_t at, std::size_t readable, rules_key& key) {
  constexpr std::uint64_t kEthernetAndIpv4 = 0x0001'0800'0604;
  if (at + 28 > readable || load_be64(frame + at) >> 16 != kEthernetAndIpv4) return;
  const std::uint64_t operation = load_be16(frame + at + 6);
  key.word[2] = std::uint64_t{load_be32(frame + at + 14)} << 32 | load_be32(frame + at + 24);
  if (operation <= 0xFF) key.word[4] = operation << kProtocolShift;
}

}  // namespace detail

/// Reads the first `readable` bytes of a frame of `bytes` bytes, and nothing after them. `in_port` is the number of the
/// ingress port in flows. Returns false if the frame ends within its Ethernet header or tag.
inline bool read_packet(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::uint16_t in_port,
                        rules_key& key, PacketLayers& layers) {
  constexpr std::uint64_t kNoTag = 0xFFFF;
  constexpr std::uint64_t kSnap = 0xAAAA'0300'0000;
  if (readable < kEthernetBytes) return false;
  layers = {.ethertype = load_be16(frame + kTypeAt)};
  layers.is_tagged = layers.ethertype == kTagType || layers.ethertype == kServiceTagType;
  std::size_t payload = kEthernetBytes;
  std::uint64_t vlan = kNoTag << 16;
  if (layers.is_tagged) {
    payload += kTagBytes;
    if (readable < payload) return false;
    const std::uint64_t tag = load_be16(frame + kTypeAt + 2);
    vlan = (tag & 0x0FFF) << 16 | tag >> 13;
    layers.ethertype = load_be16(frame + payload - 2);
  }
  if (layers.ethertype < kLeastType) {
    layers.ethertype = kNoType;
    if (readable >= payload + 8 && load_be64(frame + payload) >> 16 == kSnap) {
      const std::uint16_t type = load_be16(frame + payload + 6);
      payload += 8;
      if (type >= kLeastType) layers.ethertype = type;
    }
  }
  key = {{detail::mac_at(frame + 6) << 16 | in_port, detail::mac_at(frame) << 16 | layers.ethertype, 0, vlan, 0}};
  if (layers.ethertype == kIpv4Type) {
    detail::read_ipv4(frame, payload, readable, bytes, key, layers);
  } else if (layers.ethertype == kArpType || layers.ethertype == kRarpType) {
    detail::read_arp(frame, payload, readable, key);
  }
  return true;
}

}  // namespace penumbra::gswitch
