// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/transport.h"

#include <algorithm>
#include <cstring>

#include "packet/checksum.h"
#include "packet/edits.h"
#include "packet/mbuf_gather.h"
#include "packet/mbuf_metadata.h"
#include "penumbra/bytes.h"

namespace penumbra::ndn {
namespace {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::kIpv4Ethertype;
using forwarding::kIpv6Ethertype;

constexpr std::size_t kUdpBytes = 8, kIpv4Bytes = 20, kIpv6Bytes = 40;
constexpr std::uint8_t kUdpProtocol = ip_protocol::kUdp, kTtl = 64;

/// Returns the sum of the pseudo header of UDP. `bytes` counts the UDP header and its data.
std::uint64_t pseudo_sum(FaceLink link, const std::uint8_t* ip, std::size_t bytes) {
  return link == FaceLink::udp4 ? ipv4_pseudo_sum(ip, kUdpProtocol, bytes) : ipv6_pseudo_sum(ip, kUdpProtocol, bytes);
}

/// True for an untagged whole UDP packet, in IPv6 without extension headers, whose UDP header is in `frame`.
bool is_udp(const PacketHeaders& headers, Bytes frame) {
  const bool is_whole = headers.is_ip() && !headers.has(PacketHeaders::kFragment) && headers.extension_count == 0;
  return is_whole && headers.tags == 0 && headers.protocol == kUdpProtocol && headers.transport != 0 &&
         frame.size() >= headers.transport + kUdpBytes;
}

/// Returns the ends of the packet `frame`, with the receiver's first.
std::pair<FaceUri, FaceUri> ends_of(const PacketHeaders& headers, Bytes frame) {
  const std::uint8_t* const ip = frame.data() + headers.network;
  const std::uint8_t* const udp = frame.data() + headers.transport;
  const std::uint16_t from = load_be16(udp), to = load_be16(udp + 2);
  if (headers.has(PacketHeaders::kIpv4)) {
    return {{FaceLink::udp4, {}, {0, load_be32(ip + 16)}, to}, {FaceLink::udp4, {}, {0, load_be32(ip + 12)}, from}};
  }
  return {{FaceLink::udp6, {}, {load_be64(ip + 24), load_be64(ip + 32)}, to},
          {FaceLink::udp6, {}, {load_be64(ip + 8), load_be64(ip + 16)}, from}};
}

/// True if the checksums of a complete datagram are correct. A missing UDP checksum is valid over IPv4 (RFC 768), but
/// not over IPv6 (RFC 8200).
bool checksums_are_right(FaceLink link, const std::uint8_t* ip, const std::uint8_t* udp, std::size_t udp_bytes) {
  const bool has_none = load<std::uint16_t>(udp + 6) == 0;
  if (link == FaceLink::udp4 && !ipv4_checksum_is_right(ip, static_cast<std::size_t>(udp - ip))) return false;
  if (has_none) return link == FaceLink::udp4;
  return is_right_sum(ones_sum(udp, udp_bytes) + pseudo_sum(link, ip, udp_bytes));
}

}  // namespace

void Transport::bind(std::span<const PortInfo> ports) {
  headers_.clear();
  for (const Face& face : faces()) {
    Header& header = headers_.emplace_back();
    std::uint8_t* const bytes = header.bytes.data();
    store_mac(bytes, face.mac);
    store_mac(bytes + 6, ports[face.port].mac);
    std::uint8_t* const ip = bytes + kEthernetBytes;
    switch (face.remote.link) {
      case FaceLink::ethernet:
        store_be16(bytes + kEthertypeAt, kEthertype);
        header.size = kEthernetBytes;
        break;
      case FaceLink::udp4:
        store_be16(bytes + kEthertypeAt, kIpv4Ethertype);
        ip[0] = 0x45;
        ip[6] = 0x40;  // "don't fragment" makes the identification unnecessary (RFC 6864)
        ip[8] = kTtl;
        ip[9] = kUdpProtocol;
        store_be32(ip + 12, static_cast<std::uint32_t>(face.local.address.low));
        store_be32(ip + 16, static_cast<std::uint32_t>(face.remote.address.low));
        header.size = kEthernetBytes + kIpv4Bytes + kUdpBytes;
        break;
      case FaceLink::udp6:
        store_be16(bytes + kEthertypeAt, kIpv6Ethertype);
        ip[0] = 0x60;
        ip[6] = kUdpProtocol;
        ip[7] = kTtl;
        store_be64(ip + 8, face.local.address.high);
        store_be64(ip + 16, face.local.address.low);
        store_be64(ip + 24, face.remote.address.high);
        store_be64(ip + 32, face.remote.address.low);
        header.size = kEthernetBytes + kIpv6Bytes + kUdpBytes;
        break;
    }
    if (face.remote.link == FaceLink::ethernet) continue;
    std::uint8_t* const udp = bytes + header.size - kUdpBytes;
    store_be16(udp, face.local.udp_port);
    store_be16(udp + 2, face.remote.udp_port == 0 ? kUdpPort : face.remote.udp_port);
  }
}

Arrival Transport::receive(rte_mbuf& packet, std::uint16_t port, Received& received) const {
  if (packet.nb_segs > 1) gather(packet, packet.pkt_len);
  const Bytes frame(rte_pktmbuf_mtod(&packet, const std::uint8_t*), packet.data_len);
  const std::uint16_t ethertype = load_be16(frame.data() + kEthertypeAt);
  if (ethertype == kIpv4Ethertype || ethertype == kIpv6Ethertype) return receive_udp(packet, frame, port, received);
  if (ethertype != kEthertype) return Arrival::not_ndn;
  const MacAddress to = mac_at(frame.data());
  const auto face = table_.find(port, mac_at(frame.data() + 6), to.is_multicast());
  if (!face || (to.is_multicast() && to != kMulticastGroup)) return Arrival::unknown_face;
  if (frame.size() < packet.pkt_len) return Arrival::segmented;
  received = {*face, 0, true, frame.subspan(kEthernetBytes)};
  return Arrival::received;
}

Arrival Transport::receive_udp(rte_mbuf& packet, Bytes frame, std::uint16_t port, Received& received) const {
  const PacketHeaders& headers = headers_of(packet);
  if ((frame[0] & 1) != 0 || !is_udp(headers, frame)) return Arrival::not_ndn;
  const std::uint8_t* const udp = frame.data() + headers.transport;
  const auto [local, remote] = ends_of(headers, frame);
  if (!table_.has_local(port, local)) return Arrival::not_ndn;
  const std::size_t udp_bytes = load_be16(udp + 4);
  if (headers.has(PacketHeaders::kTruncated) || udp_bytes < kUdpBytes || headers.transport + udp_bytes != headers.end)
    return Arrival::truncated;
  if (frame.size() < headers.end) return Arrival::segmented;
  if (!checksums_are_right(remote.link, frame.data() + headers.network, udp, udp_bytes)) return Arrival::bad_checksum;
  const auto face = table_.find(port, local, remote);
  if (!face) return Arrival::unknown_face;
  received = {*face, remote.udp_port, false, frame.subspan(headers.transport + kUdpBytes, udp_bytes - kUdpBytes)};
  return Arrival::received;
}

void Transport::write_header(std::uint16_t face, std::uint16_t udp_port, std::uint8_t* at,
                             std::size_t packet_bytes) const {
  const Header& header = headers_[face];
  std::memcpy(at, header.bytes.data(), header.size);
  const FaceUri& remote = faces()[face].remote;
  if (remote.link == FaceLink::ethernet) return;
  std::uint8_t* const udp = at + header.size - kUdpBytes;
  if (remote.udp_port == 0 && udp_port != 0) store_be16(udp + 2, udp_port);
  const std::size_t udp_bytes = kUdpBytes + packet_bytes;
  std::uint8_t* const ip = at + kEthernetBytes;
  store_be16(udp + 4, static_cast<std::uint16_t>(udp_bytes));
  if (remote.link == FaceLink::udp4) {
    store_be16(ip + 2, static_cast<std::uint16_t>(kIpv4Bytes + udp_bytes));
    write_ipv4_checksum(ip);
  } else {
    store_be16(ip + 4, static_cast<std::uint16_t>(udp_bytes));
  }
  store(udp + 6, std::uint16_t{0});
  store(udp + 6, nonzero_checksum_of(ones_sum(udp, udp_bytes) + pseudo_sum(remote.link, ip, udp_bytes)));
}

}  // namespace penumbra::ndn
