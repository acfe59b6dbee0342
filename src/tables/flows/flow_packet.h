// SPDX-License-Identifier: Apache-2.0
//
// Which flow a frame belongs to, and what it adds to it; and what a filter has to know of it. Pure functions over
// bytes.
//
// - VLAN tags (IEEE 802.1Q, 802.1ad), up to two of them, are passed over; the outermost one's VLAN is the flow's.
// - Bytes are those of the IP packet by its own length, header included (IPFIX: octetDeltaCount), not of the frame.
// - ICMP's type and code stand where destination ports do, type * 256 + code, as NetFlow has had them since version 5.
// - IPv6 extension headers are passed over, up to Ipv6Chain::kMostHeaders of them.
//
// Accounting takes every packet that has an IP header: a fragment has no ports, nor has the first one, so that all
// fragments of a datagram are of one flow, and what lies behind headers that cannot be read has none. A filter takes
// no packet of which it cannot read all that its entries may name.
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
  malformed,   ///< one whose header is wrong or is not all there
  unparsable,  ///< for filters only: one whose transport header cannot be read, or may be another one's in the end
};

/// What a filter has to know of a packet beside its flow.
struct FilterPart {
  bool is_fragment = false;
  bool is_later_fragment = false;      ///< not the first one: it has no ports
  std::uint8_t extension_headers = 0;  ///< ipv6_extension::Bits of those before the transport header
};

namespace detail {

/// What the headers up to the transport's say.
struct IpLayers {
  Flow flow;  ///< without ports
  std::uint32_t bytes = 0;
  const std::uint8_t* transport = nullptr;
  std::size_t readable = 0;  ///< bytes of the packet that lie there
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

/// The least that a transport's header has; 0 if nothing is read of it.
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

/// What the transport's header says, as far as it is there. Returns TCP's flags, or 0.
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

/// Of a packet's `bytes` bytes the first `readable` lie at `packet`.
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

/// Where a frame's payload begins, and of which ethertype it is.
struct FramePayload {
  std::size_t at = kFrameHeader;
  std::uint16_t ethertype = 0;
};

constexpr bool is_vlan_tag(std::uint16_t ethertype) {
  return ethertype == 0x8100 || ethertype == 0x88A8;
}

/// False if the frame ends within its header or tags.
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

/// Of the frame's `bytes` bytes the first `readable` lie at `frame`; nothing past them is read.
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

/// Whether a frame that is not taken for IP may be taken for it by others: behind more tags, or behind a header of LLC
/// and SNAP (RFC 1042) with a length where an ethertype stands.
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

/// For accounting. Of the frame's `bytes` bytes the first `readable` lie at `frame`; nothing past them is read. `key`
/// and `packet` (all but its time) are those of a FlowFrame::flow.
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

/// For filters: the same, but the first fragment has its ports, and FlowFrame::unparsable is
///
/// - an IPv6 packet with more than `most_headers` extension headers or two fragment headers, or whose extension headers
///   are not all there;
/// - a whole packet or first fragment without all of its transport header (RFC 7112, section 5; RFC 1858, section 3);
/// - a later fragment that begins within the transport header: it overwrites what the first one says (RFC 1858,
///   section 4; RFC 3128);
/// - a frame whose IP packet lies behind more than two tags, or behind LLC and SNAP.
///
/// `part` is that of a FlowFrame::flow.
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
