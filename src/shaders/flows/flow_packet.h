// SPDX-License-Identifier: Apache-2.0
//
// Which flow a frame belongs to, and what it adds to it. A pure function over bytes.
//
// - VLAN tags (IEEE 802.1Q, 802.1ad), up to two of them, are passed over; the outermost one's VLAN is the flow's.
// - Bytes are those of the IP packet by its own length, header included (IPFIX: octetDeltaCount), not of the frame.
// - A fragment has no ports, nor has the first one: all fragments of a datagram are of one flow. Who asks for them gets
//   those that the first one has.
// - ICMP's type and code stand where destination ports do, type * 256 + code, as NetFlow has had them since version 5.
// - IPv6 extension headers (RFC 8200, RFC 4302) are passed over, up to eight of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"
#include "shaders/flows/flow_key.h"
#include "shaders/flows/flow_table.h"

namespace penumbra {

enum class FlowFrame : std::uint8_t {
  flow,
  not_ip,     ///< no IPv4 or IPv6 packet
  malformed,  ///< one whose header is wrong or is not all there
};

/// Of which packets the ports are read; all others have 0.
enum class PortsOf : std::uint8_t {
  whole_packets,
  first_fragments,  ///< and of whole packets
};

namespace detail {

struct FlowHeaders {
  const std::uint8_t* begin;  ///< of the IP header
  std::size_t readable;       ///< bytes from there
};

inline bool protocol_has_ports(std::uint8_t protocol) {
  using namespace ip_protocol;
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kDccp || protocol == kUdpLite;
}

/// What the transport's header says, of a packet that is no fragment. `readable` bytes of the packet lie there.
inline void read_transport(const std::uint8_t* header, std::size_t readable, Flow& flow, FlowPacket& packet) {
  using namespace ip_protocol;
  if (protocol_has_ports(flow.protocol)) {
    if (readable < 4) return;
    flow.source_port = load_be16(header);
    flow.destination_port = load_be16(header + 2);
    if (flow.protocol == kTcp && readable >= 14) packet.tcp_flags = header[13];
  } else if (flow.protocol == (flow.is_ipv6 ? kIcmpv6 : kIcmp) && readable >= 2) {
    flow.destination_port = load_be16(header);
  }
}

inline FlowFrame read_ipv4(FlowHeaders at, std::size_t bytes, PortsOf ports, Flow& flow, FlowPacket& packet) {
  constexpr std::uint16_t kMoreFragments = 0x2000, kOffset = 0x1FFF;
  if (at.readable < 20) return FlowFrame::malformed;
  const std::size_t header = std::size_t{at.begin[0] & 0xFU} * 4, total = load_be16(at.begin + 2);
  if (at.begin[0] >> 4 != 4 || header < 20 || total < header || total > bytes) return FlowFrame::malformed;
  flow.protocol = at.begin[9];
  flow.source.low = load_be32(at.begin + 12);
  flow.destination.low = load_be32(at.begin + 16);
  packet.bytes = static_cast<std::uint32_t>(total);
  const std::size_t readable = std::min(at.readable, total);
  const std::uint16_t is_part = ports == PortsOf::first_fragments ? kOffset : kMoreFragments | kOffset;
  const bool has_ports = (load_be16(at.begin + 6) & is_part) == 0;
  if (has_ports && readable > header) read_transport(at.begin + header, readable - header, flow, packet);
  return FlowFrame::flow;
}

/// The protocol behind the extension headers, and what its header says.
inline void read_ipv6_payload(const std::uint8_t* packet_begin, std::size_t readable, PortsOf ports, Flow& flow,
                              FlowPacket& packet) {
  constexpr std::uint16_t kMoreFragments = 0x0001, kOffset = 0xFFF8;
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51, kDestination = 60;
  constexpr int kMostHeaders = 8;
  std::size_t at = 40;
  for (int headers = 0; headers < kMostHeaders; ++headers) {
    const std::uint8_t* const header = packet_begin + at;
    const std::uint8_t kind = flow.protocol;
    const bool known =
        kind == kHopByHop || kind == kRouting || kind == kFragment || kind == kAuthentication || kind == kDestination;
    if (!known) {
      if (at < readable) read_transport(header, readable - at, flow, packet);
      return;
    }
    if (at + 8 > readable) return;
    flow.protocol = header[0];
    const std::uint16_t is_part = ports == PortsOf::first_fragments ? kOffset : kMoreFragments | kOffset;
    if (kind == kFragment && (load_be16(header + 2) & is_part) != 0) return;
    if (kind == kFragment) {
      at += 8;
    } else if (kind == kAuthentication) {
      at += (std::size_t{header[1]} + 2) * 4;
    } else {
      at += (std::size_t{header[1]} + 1) * 8;
    }
  }
}

inline FlowFrame read_ipv6(FlowHeaders at, std::size_t bytes, PortsOf ports, Flow& flow, FlowPacket& packet) {
  constexpr std::size_t kHeader = 40;
  if (at.readable < kHeader || at.begin[0] >> 4 != 6) return FlowFrame::malformed;
  const std::size_t total = kHeader + load_be16(at.begin + 4);
  if (total > bytes) return FlowFrame::malformed;
  flow.is_ipv6 = true;
  flow.protocol = at.begin[6];
  flow.source = {load_be64(at.begin + 8), load_be64(at.begin + 16)};
  flow.destination = {load_be64(at.begin + 24), load_be64(at.begin + 32)};
  packet.bytes = static_cast<std::uint32_t>(total);
  read_ipv6_payload(at.begin, std::min(at.readable, total), ports, flow, packet);
  return FlowFrame::flow;
}

}  // namespace detail

/// Of the frame's `bytes` bytes the first `readable` lie at `frame`; nothing past them is read. `key` and `packet` (all
/// but its time) are those of a FlowFrame::flow.
inline FlowFrame read_frame(const std::uint8_t* frame, std::size_t readable, std::size_t bytes, flow_key& key,
                            FlowPacket& packet, PortsOf ports = PortsOf::whole_packets) {
  constexpr std::uint16_t kIpv4 = 0x0800, kIpv6 = 0x86DD, kTag = 0x8100, kServiceTag = 0x88A8;
  constexpr std::size_t kEthernet = 14, kTagBytes = 4, kMostTags = 2;
  if (readable < kEthernet) return FlowFrame::malformed;
  Flow flow;
  packet = {};
  std::size_t at = kEthernet;
  std::uint16_t ethertype = load_be16(frame + at - 2);
  for (std::size_t tag = 0; tag < kMostTags && (ethertype == kTag || ethertype == kServiceTag); ++tag) {
    if (readable < at + kTagBytes) return FlowFrame::malformed;
    if (tag == 0) flow.vlan = load_be16(frame + at) & 0xFFF;
    ethertype = load_be16(frame + at + 2);
    at += kTagBytes;
  }
  if (ethertype != kIpv4 && ethertype != kIpv6) return FlowFrame::not_ip;
  const detail::FlowHeaders headers{frame + at, readable - at};
  const FlowFrame what = ethertype == kIpv4 ? detail::read_ipv4(headers, bytes - at, ports, flow, packet)
                                            : detail::read_ipv6(headers, bytes - at, ports, flow, packet);
  if (what == FlowFrame::flow) key = to_key(flow);
  return what;
}

}  // namespace penumbra
