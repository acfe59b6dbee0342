// SPDX-License-Identifier: Apache-2.0
#include "functions/ndn/transport.h"

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include <algorithm>
#include <cstring>

namespace penumbra::ndn {
namespace {

using forwarding::kEthernetBytes;
using forwarding::kEthertypeAt;
using forwarding::kIpv4Ethertype;
using forwarding::kIpv6Ethertype;

constexpr std::size_t kUdpBytes = sizeof(rte_udp_hdr), kIpv4Bytes = sizeof(rte_ipv4_hdr),
                      kIpv6Bytes = sizeof(rte_ipv6_hdr);
constexpr std::uint8_t kUdpProtocol = 17, kTtl = 64;

MacAddress mac_at(const std::uint8_t* bytes) {
  return {std::uint64_t{load_be16(bytes)} << 32 | load_be32(bytes + 2)};
}
void store_mac(std::uint8_t* bytes, MacAddress mac) {
  for (int i = 0; i < 6; ++i) bytes[i] = static_cast<std::uint8_t>(mac.value >> (40 - 8 * i));
}
void store_be16(std::uint8_t* bytes, std::uint16_t value) {
  store<std::uint16_t>(bytes, __builtin_bswap16(value));
}
void store_be64(std::uint8_t* bytes, std::uint64_t value) {
  store<std::uint64_t>(bytes, __builtin_bswap64(value));
}

/// Holds the positions and addresses of an IP packet with UDP.
struct Datagram {
  std::size_t udp_at = 0;  ///< offset in the frame
  std::size_t end = 0;     ///< end of the IP packet
  FaceUri local, remote;   ///< without UDP ports
};

/// Returns false unless the frame has headers of IP without fragmentation and UDP. Nothing past `frame` is read.
bool find_udp(Bytes frame, Datagram& datagram) {
  const std::uint8_t* const ip = frame.data() + kEthernetBytes;
  if (load_be16(frame.data() + kEthertypeAt) == kIpv4Ethertype) {
    if (frame.size() < kEthernetBytes + kIpv4Bytes || ip[0] >> 4 != 4) return false;
    const bool is_fragment = (load_be16(ip + 6) & 0x3FFF) != 0;
    if (ip[9] != kUdpProtocol || is_fragment || (ip[0] & 15) < 5) return false;
    datagram.udp_at = kEthernetBytes + std::size_t{ip[0] & 15U} * 4;
    datagram.end = kEthernetBytes + load_be16(ip + 2);
    datagram.remote = {FaceLink::udp4, {}, {0, load_be32(ip + 12)}, 0};
    datagram.local = {FaceLink::udp4, {}, {0, load_be32(ip + 16)}, 0};
  } else {
    if (frame.size() < kEthernetBytes + kIpv6Bytes || ip[0] >> 4 != 6 || ip[6] != kUdpProtocol) return false;
    datagram.udp_at = kEthernetBytes + kIpv6Bytes;
    datagram.end = datagram.udp_at + load_be16(ip + 4);
    datagram.remote = {FaceLink::udp6, {}, {load_be64(ip + 8), load_be64(ip + 16)}, 0};
    datagram.local = {FaceLink::udp6, {}, {load_be64(ip + 24), load_be64(ip + 32)}, 0};
  }
  return frame.size() >= datagram.udp_at + kUdpBytes;
}

/// True if the checksums of a complete datagram are correct. A missing UDP checksum is valid over IPv4 (RFC 768), but
/// not over IPv6 (RFC 8200).
bool checksums_are_right(const std::uint8_t* frame, const Datagram& datagram) {
  const std::uint8_t* const udp = frame + datagram.udp_at;
  const bool has_none = load<std::uint16_t>(udp + 6) == 0;
  if (datagram.remote.link == FaceLink::udp6) {
    const auto* const ip = reinterpret_cast<const rte_ipv6_hdr*>(frame + kEthernetBytes);
    return !has_none && rte_ipv6_udptcp_cksum_verify(ip, udp) == 0;
  }
  const auto* const ip = reinterpret_cast<const rte_ipv4_hdr*>(frame + kEthernetBytes);
  const std::size_t header_bytes = datagram.udp_at - kEthernetBytes;
  if (rte_raw_cksum(ip, header_bytes) != 0xFFFF) return false;
  return has_none || rte_ipv4_udptcp_cksum_verify(ip, udp) == 0;
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
        store<std::uint32_t>(ip + 12, rte_cpu_to_be_32(static_cast<std::uint32_t>(face.local.address.low)));
        store<std::uint32_t>(ip + 16, rte_cpu_to_be_32(static_cast<std::uint32_t>(face.remote.address.low)));
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

Arrival Transport::receive(Bytes frame, std::size_t bytes, std::uint16_t port, Received& received) const {
  const std::uint16_t ethertype = load_be16(frame.data() + kEthertypeAt);
  if (ethertype == kIpv4Ethertype || ethertype == kIpv6Ethertype) return receive_udp(frame, bytes, port, received);
  if (ethertype != kEthertype) return Arrival::not_ndn;
  const MacAddress to = mac_at(frame.data());
  const auto face = table_.find(port, mac_at(frame.data() + 6), to.is_multicast());
  if (!face || (to.is_multicast() && to != kMulticastGroup)) return Arrival::unknown_face;
  if (frame.size() < bytes) return Arrival::segmented;
  received = {*face, 0, true, frame.subspan(kEthernetBytes)};
  return Arrival::received;
}

Arrival Transport::receive_udp(Bytes frame, std::size_t bytes, std::uint16_t port, Received& received) const {
  Datagram datagram;
  if ((frame[0] & 1) != 0 || !find_udp(frame, datagram)) return Arrival::not_ndn;
  const std::uint8_t* const udp = frame.data() + datagram.udp_at;
  datagram.remote.udp_port = load_be16(udp);
  datagram.local.udp_port = load_be16(udp + 2);
  if (!table_.has_local(port, datagram.local)) return Arrival::not_ndn;
  const std::size_t udp_bytes = load_be16(udp + 4);
  if (datagram.end > bytes || udp_bytes < kUdpBytes || datagram.udp_at + udp_bytes != datagram.end)
    return Arrival::truncated;
  if (frame.size() < datagram.end) return Arrival::segmented;
  if (!checksums_are_right(frame.data(), datagram)) return Arrival::bad_checksum;
  const auto face = table_.find(port, datagram.local, datagram.remote);
  if (!face) return Arrival::unknown_face;
  received = {*face, datagram.remote.udp_port, false,
              frame.subspan(datagram.udp_at + kUdpBytes, udp_bytes - kUdpBytes)};
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
  store_be16(udp + 4, static_cast<std::uint16_t>(kUdpBytes + packet_bytes));
  std::uint16_t checksum = 0;
  if (remote.link == FaceLink::udp4) {
    store_be16(at + kEthernetBytes + 2, static_cast<std::uint16_t>(kIpv4Bytes + kUdpBytes + packet_bytes));
    auto* const ip = reinterpret_cast<rte_ipv4_hdr*>(at + kEthernetBytes);
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    checksum = rte_ipv4_udptcp_cksum(ip, udp);
  } else {
    store_be16(at + kEthernetBytes + 4, static_cast<std::uint16_t>(kUdpBytes + packet_bytes));
    checksum = rte_ipv6_udptcp_cksum(reinterpret_cast<const rte_ipv6_hdr*>(at + kEthernetBytes), udp);
  }
  store<std::uint16_t>(udp + 6, checksum);
}

}  // namespace penumbra::ndn
