// SPDX-License-Identifier: Apache-2.0
//
// Determines the flow of a frame, the counts that the frame adds, and the facts that a filter needs. All functions are
// pure functions over bytes.
//
// - Up to two VLAN tags (IEEE 802.1Q, 802.1ad) are skipped; the VLAN of the outermost tag belongs to the flow.
// - Bytes are those of the IP packet by its own length, header included (IPFIX: octetDeltaCount), not of the frame.
// - The destination port of ICMP is type * 256 + code, as in NetFlow since version 5.
// - Up to Ipv6Chain::kMostHeaders IPv6 extension headers are skipped.
//
// Accounting takes every packet with an IP header. No fragment has ports, not even the first, so all fragments of a
// datagram belong to one flow. A packet with unreadable headers has no ports either. A filter accepts only packets
// whose fields are all readable, because its entries may name any field.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/ipv6_chain.h"
#include "penumbra/bytes.h"
#include "tables/flows/flow_key.h"
#include "tables/flows/flow_table.h"

namespace penumbra {

enum class FlowFrame : std::uint8_t {
  flow,
  not_ip,      ///< no IPv4 or IPv6 packet
  malformed,   ///< its header is wrong or incomplete
  unparsable,  ///< for filters only: the transport header is unreadable or may be overwritten by a later fragment
};

/// The fields that a filter needs besides the flow.
struct FilterPart {
  bool is_fragment = false;
  bool is_later_fragment = false;      ///< not the first fragment, so it has no ports
  std::uint8_t extension_headers = 0;  ///< ipv6_extension::Bits of the headers before the transport header
};

namespace detail {

/// Fields of all headers before the transport header.
struct IpLayers {
  Flow flow;  ///< without ports
  std::uint32_t bytes = 0;
  const std::uint8_t* transport = nullptr;
  std::size_t readable = 0;  ///< readable bytes of the packet from `transport` on
  std::uint16_t offset = 0;  ///< of a fragment, in bytes
  bool more_fragments = false;
  bool is_complete = false;  ///< `transport` points to a header of the flow's protocol, or into a later fragment
  std::uint8_t extension_headers = 0;

  bool is_fragment() const { return more_fragments || offset != 0; }
};

inline bool protocol_has_ports(std::uint8_t protocol) {
  using namespace ip_protocol;
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kDccp || protocol == kUdpLite;
}

inline bool is_icmp(const Flow& flow) {
  return flow.protocol == (flow.is_ipv6 ? ip_protocol::kIcmpv6 : ip_protocol::kIcmp);
}

/// Returns the minimum size of a transport header in bytes, or 0 if the header is not read.
inline std::size_t least_transport_bytes(const Flow& flow) {
  using namespace ip_protocol;
  switch (flow.protocol) {
    case kTcp:
      return 20;
    case kUdp:
    case kUdpLite:
      return 8;
    case kSctp:
    case kDccp:
      return 12;
    default:
      return !is_icmp(flow) ? 0 : flow.is_ipv6 ? 4 : 8;
  }
}

/// Reads the ports of the transport header as far as it is readable. Returns the TCP flags, or 0.
inline std::uint8_t read_transport(const IpLayers& layers, Flow& flow) {
  const std::uint8_t* const header = layers.transport;
  if (protocol_has_ports(flow.protocol)) {
    if (layers.readable < 4) return 0;
    flow.source_port = load_be16(header);
    flow.destination_port = load_be16(header + 2);
    return flow.protocol == ip_protocol::kTcp && layers.readable >= 14 ? header[13] : 0;
  }
  if (is_icmp(flow) && layers.readable >= 2) flow.destination_port = load_be16(header);
  return 0;
}

inline void point_to_transport(IpLayers& layers, const std::uint8_t* packet, std::size_t readable, std::size_t at) {
  const std::size_t there = std::min<std::size_t>(readable, layers.bytes);
  layers.transport = packet + std::min(at, there);
  layers.readable = at < there ? there - at : 0;
}

/// Reads an IPv4 header. The first `readable` of the packet's `bytes` bytes are at `packet`.
inline FlowFrame read_ipv4(const std::uint8_t* packet, std::size_t readable, std::size_t bytes, IpLayers& layers) {
  constexpr std::uint16_t kMoreFragments = 0x2000, kOffset = 0x1FFF;
  if (readable < 20) return FlowFrame::malformed;
  const std::size_t header = std::size_t{packet[0] & 0xFU} * 4, total = load_be16(packet + 2);
  if (packet[0] >> 4 != 4 || header < 20 || total < header || total > bytes) return FlowFrame::malformed;
  layers.flow.protocol = packet[9];
  layers.flow.source.low = load_be32(packet + 12);
  layers.flow.destination.low = load_be32(packet + 16);
  layers.bytes = static_cast<std::uint32_t>(total);
  const std::uint16_t fragment = load_be16(packet + 6);
  layers.offset = static_cast<std::uint16_t>((fragment & kOffset) * 8);
  layers.more_fragments = (fragment & kMoreFragments) != 0;
  layers.is_complete = true;
  point_to_transport(layers, packet, readable, header);
  return FlowFrame::flow;
}

inline FlowFrame read_ipv6(const std::uint8_t* packet, std::size_t readable, std::size_t bytes, unsigned most_headers,
                           IpLayers& layers) {
  constexpr std::size_t kHeader = 40;
  if (readable < kHeader || packet[0] >> 4 != 6) return FlowFrame::malformed;
  const std::size_t total = kHeader + load_be16(packet + 4);
  if (total > bytes) return FlowFrame::malformed;
  layers.flow.is_ipv6 = true;
  layers.flow.source = {load_be64(packet + 8), load_be64(packet + 16)};
  layers.flow.destination = {load_be64(packet + 24), load_be64(packet + 32)};
  layers.bytes = static_cast<std::uint32_t>(total);
  const Ipv6Chain chain = read_ipv6_chain(packet, std::min(readable, total), most_headers);
  layers.flow.protocol = chain.next;
  layers.offset = chain.offset;
  layers.more_fragments = chain.more_fragments;
  layers.is_complete = chain.is_complete;
  layers.extension_headers = chain.headers;
  point_to_transport(layers, packet, readable, chain.end);
  return FlowFrame::flow;
}

inline constexpr std::size_t kFrameHeader = 14;

/// Offset and ethertype of a frame's payload.
struct FramePayload {
  std::size_t at = kFrameHeader;
  std::uint16_t ethertype = 0;
};

constexpr bool is_vlan_tag(std::uint16_t ethertype) {
  return ethertype == 0x8100 || ethertype == 0x88A8;
}

/// Returns false if the frame ends within its header or tags.
inline bool read_tags(const std::uint8_t* frame, std::size_t readable, FramePayload& payload, Flow& flow) {
  constexpr std::size_t kTagBytes = 4, kMostTags = 2;
  if (readable < kFrameHeader) return false;
  payload.ethertype = load_be16(frame + payload.at - 2);
  for (std::size_t tag = 0; tag < kMostTags && is_vlan_tag(payload.ethertype); ++tag) {
    if (readable < payload.at + kTagBytes) return false;
    if (tag == 0) flow.vlan = load_be16(frame + payload.at) & 0xFFF;
    payload.ethertype = load_be16(frame + payload.at + 2);
    payload.at += kTagBytes;
  }
  return true;
}

/// The first `readable` of the frame's `bytes` bytes are at `frame`. Reads nothing past them.
inline FlowFrame read_layers(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, unsigned most_headers,
                             FramePayload& payload, IpLayers& layers) {
  constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86DD;
  if (!read_tags(frame, readable, payload, layers.flow)) return FlowFrame::malformed;
  const std::uint8_t* const packet = frame + payload.at;
  if (payload.ethertype == kIpv4) return read_ipv4(packet, readable - payload.at, bytes - payload.at, layers);
  if (payload.ethertype == kIpv6) {
    return read_ipv6(packet, readable - payload.at, bytes - payload.at, most_headers, layers);
  }
  return FlowFrame::not_ip;
}

/// Returns true if another system may find an IP packet in a frame without an IP ethertype. The packet may follow
/// further tags, or a header of LLC and SNAP (RFC 1042) with a length in place of the ethertype.
inline bool may_be_ip(const std::uint8_t* frame, std::size_t readable, const FramePayload& payload) {
  constexpr std::uint16_t kLeastType = 0x0600;
  constexpr std::size_t kSnapBytes = 8;
  constexpr std::uint64_t kSnapAndIpv4 = 0xAAAA'0300'0000'0800, kSnapAndIpv6 = 0xAAAA'0300'0000'86DD;
  if (is_vlan_tag(payload.ethertype)) return true;
  if (payload.ethertype >= kLeastType || readable < payload.at + kSnapBytes) return false;
  const std::uint64_t snap = load_be64(frame + payload.at);
  return snap == kSnapAndIpv4 || snap == kSnapAndIpv6;
}

}  // namespace detail

/// Reads a frame for accounting. The first `readable` of the frame's `bytes` bytes are at `frame`, and nothing past
/// them is read. Sets `key` and `packet` (except its time) if the result is FlowFrame::flow.
inline FlowFrame read_frame(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, flow_key& key,
                            FlowPacket& packet) {
  detail::FramePayload payload;
  detail::IpLayers layers;
  packet = {};
  const FlowFrame what = detail::read_layers(frame, readable, bytes, Ipv6Chain::kMostHeaders, payload, layers);
  if (what != FlowFrame::flow) return what;
  packet.bytes = layers.bytes;
  if (layers.is_complete && !layers.is_fragment()) packet.tcp_flags = detail::read_transport(layers, layers.flow);
  key = to_key(layers.flow);
  return what;
}

/// Reads a frame for filters. Unlike read_frame(), it reads the ports of a first fragment, and returns
/// FlowFrame::unparsable for
///
/// - an IPv6 packet with more than `most_headers` extension headers, two fragment headers, or incomplete extension
///   headers;
/// - a whole packet or first fragment without a complete transport header (RFC 7112, section 5; RFC 1858, section 3);
/// - a later fragment that begins within the transport header and overwrites a part of it (RFC 1858, section 4; RFC
///   3128);
/// - a frame with an IP packet after more than two tags, or after LLC and SNAP.
///
/// Sets `key`, `packet_bytes` and `part` if the result is FlowFrame::flow.
inline FlowFrame read_for_filter(const std::uint8_t* frame, std::size_t readable, std::size_t bytes,
                                 unsigned most_headers, flow_key& key, std::uint32_t& packet_bytes, FilterPart& part) {
  detail::FramePayload payload;
  detail::IpLayers layers;
  const FlowFrame what = detail::read_layers(frame, readable, bytes, most_headers, payload, layers);
  if (what == FlowFrame::not_ip && detail::may_be_ip(frame, readable, payload)) return FlowFrame::unparsable;
  if (what != FlowFrame::flow) return what;
  if (!layers.is_complete) return FlowFrame::unparsable;
  const std::size_t least = detail::least_transport_bytes(layers.flow);
  if (layers.offset != 0) {
    if (layers.offset < least) return FlowFrame::unparsable;
  } else {
    if (layers.readable < least) return FlowFrame::unparsable;
    detail::read_transport(layers, layers.flow);
  }
  packet_bytes = layers.bytes;
  part = {.is_fragment = layers.is_fragment(),
          .is_later_fragment = layers.offset != 0,
          .extension_headers = layers.extension_headers};
  key = to_key(layers.flow);
  return what;
}

}  // namespace penumbra
