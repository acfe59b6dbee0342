// SPDX-License-Identifier: Apache-2.0
//
// Determines the flow of a packet, the counts that the packet adds, and the facts that a filter needs, from the headers
// that the parser found (docs/packet.md).
//
// - The VLAN of the outermost tag belongs to the flow.
// - Bytes are those of the IP packet by its own length, header included (IPFIX: octetDeltaCount), not of the frame.
// - The destination port of ICMP is type * 256 + code, as in NetFlow since version 5.
//
// Accounting takes every packet with an IP header. No fragment has ports, not even the first, so all fragments of a
// datagram belong to one flow. A packet with unreadable headers has no ports either. A filter accepts only packets
// whose fields are all readable, because its entries may name any field.
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/parse.h"
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

/// Returns FlowFrame::flow for a packet with a right IP header.
inline FlowFrame kind_of(const PacketHeaders& headers) {
  using Fault = HeaderFault;
  const Fault fault = headers.fault;
  if (headers.is_ip()) [[likely]] {
    const bool is_malformed =
        headers.has(PacketHeaders::kTruncated) || fault == Fault::ip_header_length || fault == Fault::ip_total_length;
    return is_malformed ? FlowFrame::malformed : FlowFrame::flow;
  }
  const bool may_be_ip = headers.network == 0 || headers.ethertype == ethertype::kIpv4 ||
                         headers.ethertype == ethertype::kIpv6 || ethertype::is_tag(headers.ethertype);
  return may_be_ip && fault != Fault::too_many_tags ? FlowFrame::malformed : FlowFrame::not_ip;
}

/// Returns the key of an IP packet. `has_ports` is false if the ports do not count.
inline flow_key key_of(const PacketHeaders& headers, const std::uint8_t* frame, bool has_ports) {
  const std::uint8_t* const ip = frame + headers.network;
  Flow flow;
  flow.is_ipv6 = headers.has(PacketHeaders::kIpv6);
  flow.protocol = headers.protocol;
  flow.vlan = headers.vlan();
  if (flow.is_ipv6) [[unlikely]] {
    flow.source = {load_be64(ip + 8), load_be64(ip + 16)};
    flow.destination = {load_be64(ip + 24), load_be64(ip + 32)};
  } else {
    flow.source.low = load_be32(ip + 12);
    flow.destination.low = load_be32(ip + 16);
  }
  if (has_ports) [[likely]] {
    flow.source_port = headers.source_port;
    flow.destination_port = headers.destination_port;
    if (headers.has(PacketHeaders::kIcmp)) [[unlikely]] {
      flow.destination_port = static_cast<std::uint16_t>(headers.icmp_type << 8 | headers.icmp_code);
    }
  }
  return to_key(flow);
}

}  // namespace detail

/// Describes a packet for accounting. `frame` points to the frame that `headers` describes. A packet with headers in
/// several segments is malformed. Sets `key` and `packet` (except its time) if the result is FlowFrame::flow.
inline FlowFrame read_frame(const PacketHeaders& headers, const std::uint8_t* frame, flow_key& key,
                            FlowPacket& packet) {
  packet = {};
  if (headers.has(PacketHeaders::kScattered)) [[unlikely]] {
    return FlowFrame::malformed;
  }
  const FlowFrame what = detail::kind_of(headers);
  if (what != FlowFrame::flow) [[unlikely]]
    return what;
  packet.bytes = headers.end - headers.network;
  const bool is_whole = !headers.has(PacketHeaders::kFragment);
  if (is_whole) packet.tcp_flags = headers.tcp_flags;
  key = detail::key_of(headers, frame, is_whole);
  return what;
}

/// Describes a packet for filters. Unlike read_frame(), it takes the ports of a first fragment, and returns
/// FlowFrame::unparsable for
///
/// - packets that the parser calls unparsable, or with headers in several segments;
/// - IPv6 packets with more than `most_headers` extension headers;
/// - frames with an IP packet after more than two tags, or after LLC and SNAP.
///
/// Sets `key`, `packet_bytes` and `part` if the result is FlowFrame::flow.
inline FlowFrame read_for_filter(const PacketHeaders& headers, const std::uint8_t* frame, unsigned most_headers,
                                 flow_key& key, std::uint32_t& packet_bytes, FilterPart& part) {
  if (headers.has(PacketHeaders::kScattered)) [[unlikely]] {
    return FlowFrame::unparsable;
  }
  const FlowFrame what = detail::kind_of(headers);
  if (what == FlowFrame::not_ip) {
    const bool hides_ip = headers.fault == HeaderFault::too_many_tags || headers.fault == HeaderFault::ip_in_snap;
    return hides_ip ? FlowFrame::unparsable : what;
  }
  if (what != FlowFrame::flow) return what;
  if (headers.is_unparsable() || headers.extension_count > most_headers) return FlowFrame::unparsable;
  packet_bytes = headers.end - headers.network;
  part = {.is_fragment = headers.has(PacketHeaders::kFragment),
          .is_later_fragment = headers.has(PacketHeaders::kLaterFragment),
          .extension_headers = headers.extensions};
  key = detail::key_of(headers, frame, true);
  return what;
}

}  // namespace penumbra
