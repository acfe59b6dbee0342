// SPDX-License-Identifier: Apache-2.0
//
// Describes the headers of a packet. The parser (src/packet/parse.h) fills the description, and functions read it.
// docs/packet.md has the rules and limits.
//
// The headers of a packet are part of its metadata: headers_of() (src/packet/mbuf_metadata.h) parses the packet at the
// first call, for all functions of the pipeline. A function that changes a byte which PacketHeaders describes, or moves
// a header, calls headers_changed().
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penumbra {

/// The worst fault that the parser found. From `frame_cut` on the packet is unparsable: the parser could not read all
/// headers up to the transport header.
enum class HeaderFault : std::uint8_t {
  none,
  ip_length,    ///< the length field of IP exceeds the frame
  data_offset,  ///< the data offset of TCP or DCCP is less than the header, or exceeds the packet
  udp_length,   ///< the length field of UDP is less than the header, or exceeds the packet

  frame_cut,            ///< the frame ends within its Ethernet header or a tag
  too_many_tags,        ///< more than kMostTags VLAN tags
  arp_cut,              ///< the frame ends within ARP
  ip_in_snap,           ///< an IP packet after LLC and SNAP (RFC 1042)
  ip_header_cut,        ///< the frame or packet ends within the IPv4 or IPv6 header
  ip_version,           ///< the version of the IP header contradicts the ethertype
  ip_header_length,     ///< the IPv4 header has fewer than 20 bytes
  ip_total_length,      ///< the total length of IPv4 is less than the header
  extension_cut,        ///< the packet ends within its IPv6 extension headers
  too_many_extensions,  ///< more than kMostExtensions IPv6 extension headers
  second_fragment,      ///< two fragment headers
  too_long,             ///< the transport header ends after kMostHeaderBytes bytes of the frame
  transport_cut,        ///< the packet ends within its transport header
  first_fragment_cut,   ///< the first fragment ends before or within the transport header (RFC 7112, RFC 1858)
  fragment_overlap,     ///< a later fragment begins within the transport header (RFC 3128)
  not_accessible,       ///< a header is in the frame, but not in the bytes that the parser was given
};

/// Numbers of protocols and IPv6 extension headers (IANA, "Protocol Numbers").
namespace ip_protocol {
inline constexpr std::uint8_t kHopByHop = 0, kIcmp = 1, kTcp = 6, kUdp = 17, kDccp = 33, kRouting = 43, kFragment = 44,
                              kEsp = 50, kAuthentication = 51, kIcmpv6 = 58, kNoNextHeader = 59, kDestination = 60,
                              kSctp = 132, kMobility = 135, kUdpLite = 136, kHip = 139, kShim6 = 140;
}  // namespace ip_protocol

/// IPv6 extension headers (IANA, "IPv6 Extension Header Types"). ESP is none, because the data after it cannot be read.
namespace ipv6_extension {
/// A bit for each extension header.
enum Bits : std::uint8_t {
  kHopByHopBit = 1,
  kRoutingBit = 2,
  kFragmentBit = 4,
  kAuthenticationBit = 8,
  kDestinationBit = 16,
  kMobilityBit = 32,
  kHipBit = 64,
  kShim6Bit = 128,
};
/// Returns the bit of an extension header, or 0 for other headers.
constexpr std::uint8_t bit_of(std::uint8_t next_header) {
  switch (next_header) {
    case ip_protocol::kHopByHop:
      return kHopByHopBit;
    case ip_protocol::kRouting:
      return kRoutingBit;
    case ip_protocol::kFragment:
      return kFragmentBit;
    case ip_protocol::kAuthentication:
      return kAuthenticationBit;
    case ip_protocol::kDestination:
      return kDestinationBit;
    case ip_protocol::kMobility:
      return kMobilityBit;
    case ip_protocol::kHip:
      return kHipBit;
    case ip_protocol::kShim6:
      return kShim6Bit;
    default:
      return 0;
  }
}
/// True for Mobility (RFC 6275) and HIP (RFC 7401), which are the packet's protocol if no header follows them.
constexpr bool may_be_protocol(std::uint8_t next_header) {
  return next_header == ip_protocol::kMobility || next_header == ip_protocol::kHip;
}
}  // namespace ipv6_extension

namespace ethertype {
inline constexpr std::uint16_t kIpv4 = 0x0800, kArp = 0x0806, kIpv6 = 0x86DD, kTag = 0x8100, kServiceTag = 0x88A8;
inline constexpr std::uint16_t kLeast = 0x0600;  ///< lower values are lengths (IEEE 802.3)
constexpr bool is_tag(std::uint16_t type) {
  return type == kTag || type == kServiceTag;
}
}  // namespace ethertype

/// The headers of a frame's outermost stack: Ethernet, tags, IP, transport. Offsets count from the frame's first byte.
/// All numbers are in host byte order. A field is 0 if the packet does not have it.
struct PacketHeaders {
  static constexpr unsigned kMostTags = 2;
  static constexpr unsigned kMostExtensions = 8;         ///< IPv6 extension headers
  static constexpr std::size_t kMostHeaderBytes = 2048;  ///< of the frame, up to the end of the transport header

  enum Flag : std::uint16_t {
    kIpv4 = 1,            ///< an IPv4 header with readable addresses is at `network`
    kIpv6 = 2,            ///< an IPv6 header is at `network`
    kOptions = 4,         ///< IPv4 options or IPv6 extension headers
    kFragment = 8,        ///< any fragment; not a packet whose fragment header covers all of it (RFC 6946)
    kLaterFragment = 16,  ///< not the first fragment
    kTruncated = 32,      ///< the frame ends before the IP packet
    kPorts = 64,          ///< `source_port` and `destination_port` are valid
    kIcmp = 128,          ///< `icmp_type` and `icmp_code` are valid
    kServiceTag = 256,    ///< the outermost tag is 802.1ad's (0x88A8)
    kMoreFragments = 512,
    kScattered = 1024,  ///< a header is not in the first segment of the mbuf
  };

  std::uint16_t flags = 0;
  HeaderFault fault = HeaderFault::none;
  std::uint8_t protocol = 0;    ///< after the extension headers; of an unparsable packet, where the parser stopped
  std::uint16_t ethertype = 0;  ///< after the tags
  std::uint16_t tci = 0;        ///< of the outermost tag: PCP, DEI, VLAN
  std::uint16_t network = 0;    ///< offset of the header after Ethernet and tags
  std::uint16_t transport = 0;  ///< offset of the header after IP, or of the data of a later fragment
  std::uint16_t payload = 0;    ///< offset of the data after the transport header
  std::uint16_t fragment_offset = 0;  ///< bytes
  std::uint32_t end = 0;  ///< end of the packet by its length field, at most that of the frame; padding follows
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t icmp_type = 0;
  std::uint8_t icmp_code = 0;
  std::uint8_t tcp_flags = 0;
  std::uint8_t tags = 0;        ///< number of VLAN tags
  std::uint32_t spi = 0;        ///< of ESP
  std::uint8_t extensions = 0;  ///< ipv6_extension::Bits of the IPv6 extension headers
  std::uint8_t extension_count = 0;

  bool has(Flag flag) const { return (flags & flag) != 0; }
  bool is_ip() const { return (flags & (kIpv4 | kIpv6)) != 0; }
  bool is_first_fragment() const { return (flags & (kFragment | kLaterFragment)) == kFragment; }
  bool is_unparsable() const { return fault >= HeaderFault::frame_cut; }
  std::uint16_t vlan() const { return tci & 0xFFF; }
  bool operator==(const PacketHeaders&) const = default;
};
static_assert(sizeof(PacketHeaders) <= 40 && std::is_trivially_copyable_v<PacketHeaders>);

}  // namespace penumbra
