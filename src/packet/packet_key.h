// SPDX-License-Identifier: Apache-2.0
//
// Reads the sparse key of a packet (base/packet_fields.h) and the positions of its headers. The key has the values that
// Open vSwitch 3.1 reads from the packet (miniflow_extract() in its lib/flow.c) with `other_config:vlan-limit=1`, its
// default: only the outermost tag is parsed. Open vSwitch could read an unusual packet in another way.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/packet_fields.h"
#include "packet/edits.h"
#include "packet/parse.h"
#include "penumbra/bytes.h"
#include "penumbra/ip.h"
#include "penumbra/packet.h"

namespace penumbra::packet_fields {

/// Holds the positions of the headers, from the first byte of the frame. 0 means that the packet has no such header.
struct PacketLayers {
  std::uint16_t network = 0;    ///< of IPv4 or IPv6
  std::uint16_t transport = 0;  ///< of TCP, UDP, SCTP or ICMPv6; first fragments have one
  std::uint32_t end = 0;        ///< of the IP packet
  std::uint8_t protocol = 0;
  bool is_ipv4 = false;
  bool is_tagged = false;
  bool has_routing = false;  ///< an IPv6 routing header changes the pseudo header's destination
  bool has_ports = false;    ///< the ports of the transport header are in the key
};

/// Says how a packet was read.
enum class Reading : std::uint8_t {
  runt,     ///< the frame ends within its Ethernet header or tag; there is no key
  unusual,  ///< fields that could not be read, or could be read in another way, are 0
  usual,
};

constexpr bool is_mpls(std::uint16_t type) {
  return type == 0x8847 || type == 0x8848;
}
constexpr bool is_arp(std::uint16_t type) {
  return type == ethertype::kArp || type == kRarpType;
}

/// The ethertype of an IEEE 802.3 frame without one.
inline constexpr std::uint16_t kNoType = 0x05FF;

/// Returns the ethertype of an IEEE 802.3 frame, whose data begin at `network`: that of LLC and SNAP with the
/// organisation 0, or kNoType. Moves `network` after LLC and SNAP if they are there.
inline std::uint16_t type_after_length(const std::uint8_t* frame, std::size_t readable, std::size_t& network) {
  constexpr std::uint64_t kSnap = 0xAAAA'0300'0000;
  constexpr std::size_t kSnapBytes = 8;
  if (readable < network + kSnapBytes || load_be64(frame + network) >> 16 != kSnap) return kNoType;
  const std::uint16_t type = load_be16(frame + network + 6);
  network += kSnapBytes;
  return type >= ethertype::kLeast ? type : kNoType;
}

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
/// `bytes` bytes. If an option appears twice, the packet is unusual, and these fields are 0.
inline Reading read_neighbour(const std::uint8_t* message, std::size_t bytes, SparseWords& key) {
  constexpr std::size_t kTargetAt = 8, kOptionsAt = 24, kUnit = 8;
  constexpr std::uint8_t kSourceAddress = 1, kTargetAddress = 2;
  if (bytes < kOptionsAt) return Reading::usual;
  set(key, Field::nd_target, {load_be64(message + kTargetAt), load_be64(message + kTargetAt + 8)});
  for (std::size_t at = kOptionsAt; at + kUnit <= bytes;) {
    const std::size_t length = message[at + 1] * kUnit;
    if (length == 0 || at + length > bytes) break;
    const std::uint8_t type = message[at];
    if (length == kUnit && (type == kSourceAddress || type == kTargetAddress)) {
      const Field field = type == kSourceAddress ? Field::arp_sha : Field::arp_tha;
      if (get(key, field) != Number{}) {
        for (const Field each : {Field::nd_target, Field::arp_sha, Field::arp_tha}) set(key, each, {});
        return Reading::unusual;
      }
      set(key, field, {0, mac_at(message + at + 2).value});
    }
    at += length;
  }
  return Reading::usual;
}

/// Reads type and code of ICMP, and neighbour discovery.
inline Reading read_icmp(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable,
                         SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kIcmpBytes = 8;
  constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;
  const std::size_t bytes = headers.end - headers.transport;
  if (bytes < kIcmpBytes) return Reading::unusual;  // The parser checks 4 bytes of ICMPv6 only.
  set(key, Field::tp_src, {0, headers.icmp_type});
  set(key, Field::tp_dst, {0, headers.icmp_code});
  if (layers.is_ipv4) return Reading::usual;
  layers.transport = headers.transport;
  const bool is_neighbour = headers.icmp_type == kSolicitation || headers.icmp_type == kAdvertisement;
  if (!is_neighbour || headers.icmp_code != 0) return Reading::usual;
  if (headers.end > readable) return Reading::unusual;
  return read_neighbour(frame + headers.transport, bytes, key);
}

/// Reads the ports or the type and code.
inline Reading read_transport(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable,
                              SparseWords& key, PacketLayers& layers) {
  constexpr std::uint8_t kIgmp = 2;
  constexpr std::uint16_t kFlagBits = 0x0FFF;
  const std::uint8_t protocol = headers.protocol;
  const bool is_icmp = protocol == (layers.is_ipv4 ? ip_protocol::kIcmp : ip_protocol::kIcmpv6);
  const bool has_ports =
      protocol == ip_protocol::kTcp || protocol == ip_protocol::kUdp || protocol == ip_protocol::kSctp;
  if (!has_ports && !is_icmp) return protocol == kIgmp ? Reading::unusual : Reading::usual;
  if (headers.payload <= headers.transport) return Reading::unusual;
  if (is_icmp) return read_icmp(headers, frame, readable, key, layers);
  layers.transport = headers.transport;
  if (headers.fault == HeaderFault::data_offset || headers.payload > readable) return Reading::unusual;
  layers.has_ports = true;
  set(key, Field::tp_src, {0, headers.source_port});
  set(key, Field::tp_dst, {0, headers.destination_port});
  if (protocol == ip_protocol::kTcp) {
    constexpr std::size_t kFlagsAt = 12;
    const std::uint8_t* const flags = frame + headers.transport + kFlagsAt;
    set(key, Field::tcp_flags, {0, std::uint64_t{load_be16(flags)} & kFlagBits});
  }
  return Reading::usual;
}

/// Reads IPv4 or IPv6 and the header after it. A wrong or truncated IP header has no fields.
inline Reading read_ip(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                       SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kMostPadding = 255;  // Open vSwitch rejects more.
  constexpr std::uint8_t kUnknownExtensions =
      ipv6_extension::kMobilityBit | ipv6_extension::kHipBit | ipv6_extension::kShim6Bit;
  if (!headers.is_ip() || headers.has(PacketHeaders::kTruncated) || headers.payload == 0) return Reading::unusual;
  const std::uint8_t* const ip = frame + headers.network;
  layers.network = headers.network;
  layers.end = headers.end;
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
  const Reading transport = is_later ? Reading::usual : read_transport(headers, frame, readable, key, layers);
  const bool is_usual = headers.fault == HeaderFault::none && bytes - headers.end <= kMostPadding &&
                        (headers.extensions & kUnknownExtensions) == 0;
  return is_usual ? transport : Reading::unusual;
}

/// Reads the header after Ethernet, tags and LLC, which is at `network`.
inline Reading read_network(const PacketHeaders& headers, const std::uint8_t* frame, std::size_t readable,
                            std::size_t bytes, std::size_t network, std::uint16_t type, SparseWords& key,
                            PacketLayers& layers) {
  constexpr std::size_t kArpBytes = 28, kLabelBytes = 4;
  if (type == ethertype::kIpv4 || type == ethertype::kIpv6) {
    return read_ip(headers, frame, readable, bytes, key, layers);
  }
  if (is_arp(type)) {
    if (network + kArpBytes > readable) return Reading::unusual;
    read_arp(frame + network, key);
  } else if (is_mpls(type) && network + kLabelBytes <= bytes) {  // A frame that ends before has no label.
    if (network + kLabelBytes > readable) return Reading::unusual;
    key[place_of(Field::mpls_label).word] = load_be32(frame + network);
  }
  return headers.fault == HeaderFault::none ? Reading::usual : Reading::unusual;
}

}  // namespace detail

/// Reads a frame of `bytes` bytes, whose first `readable` bytes are at `frame`. The parser described these bytes as
/// `parsed`. `in_port` is the number of the receive port.
inline Reading read_packet(const PacketHeaders& parsed, const std::uint8_t* frame, std::size_t readable,
                           std::size_t bytes, std::uint16_t in_port, SparseWords& key, PacketLayers& layers) {
  constexpr std::size_t kSourceMacAt = 6;
  layers = {};
  if (parsed.network == 0) return Reading::runt;
  std::uint16_t type = load_be16(frame + kEthertypeAt);
  std::size_t network = kEthernetHeaderBytes;
  key = {};
  if (ethertype::is_tag(type)) {
    if (readable < network + kTagBytes) return Reading::runt;
    layers.is_tagged = true;
    set(key, Field::vlan_tpid, {0, type});
    set(key, Field::vlan_tci, {0, std::uint64_t{load_be16(frame + network)} | kTagPresent});
    network += kTagBytes;
    type = load_be16(frame + network - 2);
  }
  key[0] = mac_at(frame + kSourceMacAt).value << 16 | in_port;
  const std::uint64_t destination = mac_at(frame).value << 16;
  if (type < ethertype::kLeast) [[unlikely]] {
    const std::size_t data = network;
    type = type_after_length(frame, readable, network);
    key[1] = destination | type;
    if (network == data || ethertype::is_tag(type)) return Reading::unusual;
    const PacketHeaders after = parse_network(frame, readable, bytes, network, type);
    detail::read_network(after, frame, readable, bytes, network, type, key, layers);
    return Reading::unusual;
  }
  key[1] = destination | type;
  if (ethertype::is_tag(type)) return Reading::usual;
  return detail::read_network(parsed, frame, readable, bytes, network, type, key, layers);
}
/// Parses the bytes and reads them like the other read_packet().
inline Reading read_packet(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, std::uint16_t in_port,
                           SparseWords& key, PacketLayers& layers) {
  PacketHeaders headers;
  parse_headers(frame, readable, bytes, headers);
  return read_packet(headers, frame, readable, bytes, in_port, key, layers);
}

}  // namespace penumbra::packet_fields
