// SPDX-License-Identifier: Apache-2.0
//
// Reads the 12 fields of a frame (OpenFlow 1.0, section 3.4 and Table 3), or all fields of flows, and the positions of
// its headers. The functions only read bytes. Where the specification is silent, they follow Open vSwitch:
//
// - The outermost tag (0x8100 or 0x88A8) is the tag of the frame. The ethertype follows it, even if it is the type of
//   another tag.
// - IEEE 802.3: after a length, the ethertype is that of LLC and SNAP with the organisation 0. Without such a header
//   the ethertype is 0x05FF.
// - The fields of an invalid or incomplete IPv4 header are 0. So are ports of an incomplete transport header.
// - Fragments have no ports, including the first fragment ("frag=normal").
//
// A sparse key has the same values in the 12 fields. In the 12 fields, IPv6 has its ethertype only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/edits.h"
#include "packet/packet_key.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/rule.h"
#include "tables/rules/rules.shader.h"

namespace penumbra::gswitch {

inline constexpr std::size_t kEthernetBytes = kEthernetHeaderBytes, kTypeAt = kEthertypeAt;
inline constexpr std::uint16_t kTagType = ethertype::kTag, kServiceTagType = ethertype::kServiceTag;
inline constexpr std::uint8_t kIcmp = ip_protocol::kIcmp, kTcp = ip_protocol::kTcp, kUdp = ip_protocol::kUdp,
                              kSctp = ip_protocol::kSctp;

/// Holds the positions of the headers, from the first byte of the frame. 0 means that the frame has no complete header
/// of this kind.
struct PacketLayers {
  bool is_tagged = false;
  std::size_t ipv4 = 0;
  std::size_t tcp = 0, udp = 0;  ///< of whole packets and of first fragments
  bool has_ports = false;        ///< true if the ports of the TCP or UDP header can be set
};

namespace detail {

/// Takes the fields of a right IPv4 packet. The first `readable` bytes of the frame are accessible.
inline void take_ipv4(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable, rules_key& key,
                      PacketLayers& layers) {
  if (!headers.has(PacketHeaders::kIpv4) || headers.has(PacketHeaders::kTruncated) || headers.transport == 0) return;
  const std::uint8_t* const header = frame + headers.network;
  const std::uint8_t protocol = headers.protocol;
  layers.ipv4 = headers.network;
  key.word[2] = load_be64(header + 12);
  key.word[4] = std::uint64_t{protocol} << kProtocolShift | std::uint64_t{header[1] & 0xFCU} << kTosShift;
  if (headers.payload <= headers.transport) return;
  if (protocol == kTcp) layers.tcp = headers.transport;
  if (protocol == kUdp) layers.udp = headers.transport;
  if (headers.fault == HeaderFault::data_offset || headers.payload > readable) return;
  layers.has_ports = protocol == kTcp || protocol == kUdp;
  if (headers.has(PacketHeaders::kFragment)) return;
  const std::uint64_t source = protocol == kIcmp ? headers.icmp_type : headers.source_port;
  const std::uint64_t destination = protocol == kIcmp ? headers.icmp_code : headers.destination_port;
  const bool counts = layers.has_ports || protocol == kIcmp || protocol == kSctp;
  if (counts) key.word[4] |= source << kSourcePortShift | destination << kDestinationPortShift;
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

/// Reads the first `readable` bytes of a frame of `bytes` bytes, and nothing after them. The parser described these
/// bytes as `parsed`. `in_port` is the number of the ingress port in flows. Returns false if the frame ends within its
/// Ethernet header or tag.
inline bool read_packet(const PacketHeaders& parsed, const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                        std::uint16_t in_port, rules_key& key, PacketLayers& layers) {
  constexpr std::uint64_t kNoTag = 0xFFFF;
  const bool is_in_tag = parsed.tags == 0 && ethertype::is_tag(parsed.ethertype);
  if (parsed.network == 0 || is_in_tag) return false;
  layers = {.is_tagged = parsed.tags != 0};
  std::uint64_t vlan = kNoTag << 16;
  std::size_t payload = kEthernetBytes;
  const PacketHeaders* headers = &parsed;
  PacketHeaders after_snap;
  if (layers.is_tagged) {
    vlan = std::uint64_t{parsed.vlan()} << 16 | parsed.tci >> 13;
    payload += kTagBytes;
  }
  std::uint16_t type = load_be16(frame + payload - 2);
  if (type < ethertype::kLeast) {
    type = packet_fields::type_after_length(frame, readable, payload);
    if (type == ethertype::kIpv4) after_snap = parse_network(frame, readable, bytes, payload, type);
    headers = &after_snap;
  }
  key = {{mac_at(frame + 6).value << 16 | in_port, mac_at(frame).value << 16 | type, 0, vlan, 0}};
  if (type == ethertype::kIpv4) {
    detail::take_ipv4(*headers, frame, readable, key, layers);
  } else if (packet_fields::is_arp(type)) {
    detail::read_arp(frame, payload, readable, key);
  }
  return true;
}
/// Does the same for all fields of flows.
inline bool read_packet(const PacketHeaders& parsed, const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                        std::uint16_t in_port, SparseWords& key, PacketLayers& layers) {
  using packet_fields::Field;
  packet_fields::PacketLayers found;
  if (read_packet(parsed, frame, readable, bytes, in_port, key, found) == packet_fields::Reading::runt) return false;
  layers = {.is_tagged = found.is_tagged};
  if (get(key, Field::nw_frag).low != 0) {
    set(key, Field::tp_src, {});
    set(key, Field::tp_dst, {});
  }
  if (!found.is_ipv4) return true;
  layers.ipv4 = found.network;
  if (found.protocol == kTcp) layers.tcp = found.transport;
  if (found.protocol == kUdp) layers.udp = found.transport;
  layers.has_ports = found.has_ports && (found.protocol == kTcp || found.protocol == kUdp);
  return true;
}
/// Parses the bytes and reads them like the other functions.
template <class Key>
bool read_packet(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::uint16_t in_port, Key& key,
                 PacketLayers& layers) {
  return read_packet(parse_headers(frame, readable, bytes), frame, readable, bytes, in_port, key, layers);
}

}  // namespace penumbra::gswitch
