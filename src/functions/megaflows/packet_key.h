// SPDX-License-Identifier: Apache-2.0
//
// Reads the key of a packet and the positions of its headers. The key has the values that Open vSwitch 3.1 reads from
// the packet (miniflow_extract() in its lib/flow.c) with `other_config:vlan-limit=1`, its default: only the outermost
// tag is parsed. A packet that Open vSwitch could read in another way has no key.
#pragma once

#include <cstddef>
#include <cstdint>

#include "functions/megaflows/fields.h"
#include "packet/edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"
#include "penumbra/packet.h"

namespace penumbra::megaflows {

/// Holds the positions of the headers, from the first byte of the frame. 0 means that the packet has no such header.
struct PacketLayers {
  std::uint16_t network = 0;    ///< of IPv4 or IPv6
  std::uint16_t transport = 0;  ///< of TCP, UDP or ICMPv6; first fragments have one
  std::uint8_t protocol = 0;
  bool is_ipv4 = false;
  bool is_tagged = false;
  bool has_routing = false;  ///< an IPv6 routing header changes the pseudo header's destination
};

/// Values of the field nw_frag.
inline constexpr std::uint64_t kAnyFragment = 1, kLaterFragment = 2;

/// The field vlan_tci has this bit for every tagged packet, in place of DEI.
inline constexpr std::uint16_t kTagPresent = 0x1000;

namespace detail {

/// Reads ARP for Ethernet and IPv4 (RFC 826). Other ARP has no fields.
inline void read_arp(const std::uint8_t* arp, SparseWords& key) {
  constexpr std::uint64_t kEthernetAndIpv4 = 0x0001'0800'0604;
  constexpr std::uint64_t kMostOperation = 0xFF;
  if (load_be64(arp) >> 16 != kEthernetAndIpv4) return;
  const std::uint64_t operation = load_be16(arp + 6);
  if (operation <= kMostOperation) set(key, Field::nw_proto, {0, operation});
  set(key, Field::nw_src, {0, load_be32(arp + 14)});
  set(key, Field::nw_dst, {0, load_be32(arp + 24)});
  set(key, Field::arp_sha, {0, mac_at(arp + 8).value});
  set(key, Field::arp_tha, {0, mac_at(arp + 18).value});
}

/// Reads the target of a neighbour solicitation or advertisement and its link-layer addresses (RFC 4861). `message` has
/// `bytes` bytes. Returns false if an option appears twice.
inline bool read_neighbour(const std::uint8_t* message, std::size_t bytes, SparseWords& key) {
  constexpr std::size_t kTargetAt = 8, kOptionsAt = 24, kUnit = 8;
  constexpr std::uint8_t kSourceAddress = 1, kTargetAddress = 2;
  if (bytes < kOptionsAt) return true;
  set(key, Field::nd_target, {load_be64(message + kTargetAt), load_be64(message + kTargetAt + 8)});
  for (std::size_t at = kOptionsAt; at + kUnit <= bytes;) {
    const std::size_t length = message[at + 1] * kUnit;
    if (length == 0 || at + length > bytes) break;
    const std::uint8_t type = message[at];
    if (length == kUnit && (type == kSourceAddress || type == kTargetAddress)) {
      const Field field = type == kSourceAddress ? Field::arp_sha : Field::arp_tha;
      if (get(key, field) != Number{}) return false;
      set(key, field, {0, mac_at(message + at + 2).value});
    }
    at += length;
  }
  return true;
}

/// Reads the ports or the type and code. Returns false if Open vSwitch could read the packet in another way.
inline bool read_transport(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable,
                           SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kIcmpBytes = 8;
  constexpr std::uint8_t kIgmp = 2, kSolicitation = 135, kAdvertisement = 136;
  constexpr std::uint16_t kFlagBits = 0x0FFF;
  const std::uint8_t protocol = headers.protocol;
  const std::size_t bytes = headers.end - headers.transport;
  const std::uint8_t* const transport = frame + headers.transport;
  const bool is_icmp = protocol == (layers.is_ipv4 ? ip_protocol::kIcmp : ip_protocol::kIcmpv6);
  if (protocol == kIgmp) return false;
  if (is_icmp) {
    if (bytes < kIcmpBytes || headers.payload <= headers.transport) return false;
    set(key, Field::tp_src, {0, headers.icmp_type});
    set(key, Field::tp_dst, {0, headers.icmp_code});
    if (layers.is_ipv4) return true;
    layers.transport = headers.transport;
    const bool is_neighbour = headers.icmp_type == kSolicitation || headers.icmp_type == kAdvertisement;
    if (!is_neighbour || headers.icmp_code != 0) return true;
    return headers.end <= readable && read_neighbour(transport, bytes, key);  // The parser checks 4 bytes only.
  }
  const bool has_ports =
      protocol == ip_protocol::kTcp || protocol == ip_protocol::kUdp || protocol == ip_protocol::kSctp;
  if (!has_ports) return true;
  if (!headers.has(PacketHeaders::kPorts)) return false;
  set(key, Field::tp_src, {0, headers.source_port});
  set(key, Field::tp_dst, {0, headers.destination_port});
  if (protocol != ip_protocol::kSctp) layers.transport = headers.transport;
  if (protocol == ip_protocol::kTcp) {
    constexpr std::size_t kFlagsAt = 12;
    set(key, Field::tcp_flags, {0, std::uint64_t{load_be16(transport + kFlagsAt)} & kFlagBits});
  }
  return true;
}

/// Reads IPv4 or IPv6 and the header after it.
inline bool read_ip(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                    SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kMostPadding = 255;  // Open vSwitch rejects more.
  constexpr std::uint8_t kUnknownExtensions =
      ipv6_extension::kMobilityBit | ipv6_extension::kHipBit | ipv6_extension::kShim6Bit;
  if (headers.has(PacketHeaders::kTruncated) || bytes - headers.end > kMostPadding) return false;
  if ((headers.extensions & kUnknownExtensions) != 0) return false;
  const std::uint8_t* const ip = frame + headers.network;
  layers.network = headers.network;
  layers.is_ipv4 = headers.has(PacketHeaders::kIpv4);
  layers.protocol = headers.protocol;
  layers.has_routing = (headers.extensions & ipv6_extension::kRoutingBit) != 0;
  if (layers.is_ipv4) {
    set(key, Field::nw_src, {0, load_be32(ip + 12)});
    set(key, Field::nw_dst, {0, load_be32(ip + 16)});
    set(key, Field::nw_tos, {0, ip[1]});
    set(key, Field::nw_ttl, {0, ip[8]});
  } else {
    const std::uint32_t first = load_be32(ip);
    set(key, Field::ipv6_src, {load_be64(ip + 8), load_be64(ip + 16)});
    set(key, Field::ipv6_dst, {load_be64(ip + 24), load_be64(ip + 32)});
    set(key, Field::ipv6_label, {0, first & 0xFFFFF});
    set(key, Field::nw_tos, {0, first >> 20 & 0xFF});
    set(key, Field::nw_ttl, {0, ip[7]});
  }
  const bool is_later = headers.has(PacketHeaders::kLaterFragment);
  if (headers.has(PacketHeaders::kFragment)) {
    set(key, Field::nw_frag, {0, is_later ? kAnyFragment | kLaterFragment : kAnyFragment});
  }
  set(key, Field::nw_proto, {0, is_later && !layers.is_ipv4 ? ip_protocol::kFragment : headers.protocol});
  return is_later || read_transport(headers, frame, readable, key, layers);
}

}  // namespace detail

/// Reads a frame of `bytes` bytes, whose first `readable` bytes are at `frame`. `in_port` is the number of the receive
/// port. Returns false if the packet has no key.
inline bool read_packet(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::uint16_t in_port,
                        SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kArpBytes = 28, kSourceMacAt = 6;
  constexpr std::uint16_t kRarp = 0x8035;
  PacketHeaders headers;
  parse_headers(frame, readable, bytes, headers);
  layers = {};
  if (headers.network == 0) return false;
  const std::uint16_t type = load_be16(frame + kEthertypeAt);
  layers.is_tagged = ethertype::is_tag(type);
  const std::size_t network = kEthernetHeaderBytes + (layers.is_tagged ? kTagBytes : 0);
  if (readable < network) return false;
  const std::uint16_t inner = layers.is_tagged ? load_be16(frame + network - 2) : type;
  if (inner < ethertype::kLeast) return false;
  key = {};
  key[0] = mac_at(frame + kSourceMacAt).value << 16 | in_port;
  key[1] = mac_at(frame).value << 16 | inner;
  if (layers.is_tagged) {
    set(key, Field::vlan_tpid, {0, type});
    set(key, Field::vlan_tci, {0, std::uint64_t{load_be16(frame + kEthernetHeaderBytes)} | kTagPresent});
  }
  if (ethertype::is_tag(inner)) return true;
  if (headers.fault != HeaderFault::none) return false;
  if (inner == ethertype::kArp || inner == kRarp) {
    if (network + kArpBytes > readable) return false;
    detail::read_arp(frame + network, key);
    return true;
  }
  return !headers.is_ip() || detail::read_ip(headers, frame, readable, bytes, key, layers);
}

}  // namespace penumbra::megaflows
