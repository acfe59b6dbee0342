// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/detect/tunnel.h"

#include <algorithm>

#include "penumbra/bytes.h"
#include "penumbra/packet.h"

namespace penumbra::ids {
namespace {

using Kind = LinkLayer::Kind;
using Bytes = std::span<const std::uint8_t>;
using Found = std::optional<TunnelPayload>;

constexpr std::uint8_t kIpv4InIp = 4, kIpv6InIp = 41, kGre = 47;
constexpr std::uint16_t kPpp = 0x880B, kBridged = 0x6558, kErspan = 0x88BE;

/// Returns the rest of `bytes`, or nothing if it is empty.
Found after(Bytes bytes, std::size_t header, Kind kind) {
  if (bytes.size() <= header) return std::nullopt;
  return TunnelPayload{.kind = kind, .frame = bytes.subspan(header)};
}

/// Reads what an Ethernet type announces.
Found of_type(std::uint16_t type, Bytes bytes, std::size_t header) {
  switch (type) {
    case ethertype::kIpv4:
    case ethertype::kIpv6:
      return after(bytes, header, Kind::raw);
    case kPpp:
      return after(bytes, header, Kind::ppp);
    case kBridged:
      return after(bytes, header, Kind::ethernet);
    default:
      return std::nullopt;
  }
}

/// RFC 2784, RFC 2890, and RFC 2637 for version 1. ERSPAN has a header of 8 bytes if GRE numbers its packets, else
/// none.
Found of_gre(Bytes bytes) {
  constexpr unsigned kChecksum = 0x80, kRouting = 0x40, kKey = 0x20, kSequence = 0x10, kAcknowledgement = 0x80;
  if (bytes.size() < 4) return std::nullopt;
  const unsigned flags = bytes[0], version = bytes[1] & 7U;
  const std::uint16_t type = load_be16(bytes.data() + 2);
  std::size_t header = 4;
  const auto skip = [&header](bool is_present) { header += is_present ? 4 : 0; };
  if (version == 1) {
    if (type != kPpp || (flags & (kChecksum | kRouting)) != 0 || (flags & kKey) == 0) return std::nullopt;
    skip(true);
    skip((flags & kSequence) != 0);
    skip((bytes[1] & kAcknowledgement) != 0);
    return after(bytes, header, Kind::ppp);
  }
  if (version != 0) return std::nullopt;
  skip((flags & (kChecksum | kRouting)) != 0);
  skip((flags & kKey) != 0);
  skip((flags & kSequence) != 0);
  if ((flags & kRouting) != 0) {
    // RFC 1701: entries of routes, of which the last one is empty.
    for (std::size_t length = 1; length != 0;) {
      if (bytes.size() < header + 4) return std::nullopt;
      length = bytes[header + 3];
      header += 4 + length;
    }
  }
  if (type != kErspan) return of_type(type, bytes, header);
  constexpr std::size_t kErspanHeader = 8;
  return after(bytes, header + ((flags & kSequence) != 0 ? kErspanHeader : 0), Kind::ethernet);
}

/// RFC 7348.
Found of_vxlan(Bytes bytes) {
  constexpr std::uint8_t kHasNetwork = 8;
  if (bytes.empty() || (bytes[0] & kHasNetwork) == 0) return std::nullopt;
  return after(bytes, 8, Kind::ethernet);
}

/// RFC 8926.
Found of_geneve(Bytes bytes) {
  if (bytes.size() < 8 || bytes[0] >> 6 != 0) return std::nullopt;
  return of_type(load_be16(bytes.data() + 2), bytes, 8 + std::size_t{bytes[0] & 0x3FU} * 4);
}

/// RFC 4380: an indication of the origin may precede the packet of IPv6, whose length must be right.
Found of_teredo(Bytes bytes) {
  constexpr std::size_t kIpv6Header = 40, kOrigin = 8;
  if (bytes.size() >= kOrigin && bytes[0] == 0 && bytes[1] == 0) bytes = bytes.subspan(kOrigin);
  if (bytes.size() < kIpv6Header || bytes[0] >> 4 != 6) return std::nullopt;
  if (bytes.size() != kIpv6Header + load_be16(bytes.data() + 4)) return std::nullopt;
  return TunnelPayload{.kind = Kind::raw, .frame = bytes};
}

/// Names the kind of tunnel.
Found from(Found found, PacketSource source) {
  if (found) found->source = source;
  return found;
}

Found of_udp(const PacketView& packet, const TunnelSettings& settings) {
  const PacketHeaders& headers = packet.headers();
  const std::uint16_t port = headers.destination_port;
  if (settings.vxlan.contains(port)) return from(of_vxlan(packet.payload()), PacketSource::vxlan);
  if (settings.geneve.contains(port)) return from(of_geneve(packet.payload()), PacketSource::geneve);
  if (!settings.teredo.contains(port) && !settings.teredo.contains(headers.source_port)) return std::nullopt;
  return from(of_teredo(packet.payload()), PacketSource::teredo);
}

}  // namespace

Found tunnel_payload(const PacketView& packet, Bytes frame, const TunnelSettings& settings) {
  const PacketHeaders& headers = packet.headers();
  if (headers.has(PacketHeaders::kFragment)) return std::nullopt;
  if (packet.protocol() == ip_protocol::kUdp) return of_udp(packet, settings);
  const std::size_t end = std::min<std::size_t>(headers.end, frame.size());
  if (headers.transport >= end) return std::nullopt;
  const Bytes carried = frame.subspan(headers.transport, end - headers.transport);
  switch (packet.protocol()) {
    case kIpv4InIp:
    case kIpv6InIp:
      if (!settings.ip_in_ip && !packet.is_ipv6() && packet.protocol() == kIpv4InIp) return std::nullopt;
      return TunnelPayload{Kind::raw, carried, packet.is_ipv6() ? PacketSource::ipv6 : PacketSource::ipv4};
    case kGre:
      return from(of_gre(carried), PacketSource::gre);
    default:
      return std::nullopt;
  }
}

}  // namespace penumbra::ids
