// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "io/odd_frames.h"
#include "io/odd_packets.h"

namespace penumbra::io {
namespace {

using odd::Frame;
using odd::with_first_byte;

constexpr std::size_t kSourceAt = 8, kDestinationAt = 24;
constexpr Ipv6Address kUnspecified{0, 0}, kLoopback{0, 1}, kAllRouters{0xFF02'0000'0000'0000, 2};

std::size_t with_hop_limit(const Frame& frame, std::uint8_t value) {
  frame.ip()[7] = value;
  return frame.size;
}

std::size_t with_full_class_and_label(const Frame& frame) {
  store_be32(frame.ip(), 0x6FFFFFFF);
  return frame.size;
}

std::size_t with_payload_length(const Frame& frame, std::size_t value) {
  store_be16(frame.ip() + 4, static_cast<std::uint16_t>(value));
  return frame.size;
}

/// Sets the source or destination address.
std::size_t with_address(const Frame& frame, std::size_t offset, Ipv6Address address) {
  store_address(frame.ip() + offset, address);
  return frame.size;
}

/// Returns an IPv4-mapped address, ::ffff:0:0/96.
Ipv6Address some_mapped_address(Random& random) {
  return {0, 0xFFFF'0000'0000 | random.next() >> 32};
}
Ipv6Address some_link_local_address(Random& random) {
  return {0xFE80'0000'0000'0000, random.next()};
}
/// Returns a multicast address of that scope (RFC 4291, section 2.7).
Ipv6Address some_group(Random& random, std::uint64_t scope) {
  return {0xFF00'0000'0000'0000 | scope << 48, random.next()};
}

std::size_t with_next_header(const Frame& frame, std::uint8_t kind) {
  frame.ip()[6] = kind;
  return frame.size;
}

/// Replaces the first eight bytes after the header by an extension header: `next_header`, three bytes of `first`, and
/// four of `second`.
std::size_t with_extension(const Frame& frame, std::uint8_t kind, std::uint8_t next_header, std::uint32_t first,
                           std::uint32_t second) {
  store_be32(frame.ip() + kIpv6Bytes, std::uint32_t{next_header} << 24 | first);
  store_be32(frame.ip() + kIpv6Bytes + 4, second);
  return with_next_header(frame, kind);
}

/// Makes the packet a first or a later fragment of a UDP datagram.
std::size_t as_ipv6_fragment(const Frame& frame, std::uint32_t offset_and_more) {
  return with_extension(frame, IPPROTO_FRAGMENT, IPPROTO_UDP, offset_and_more,
                        static_cast<std::uint32_t>(frame.random.next()));
}

/// Writes the header of a jumbogram (RFC 2675) without the option for its length.
std::size_t as_jumbogram(const Frame& frame) {
  with_payload_length(frame, 0);
  return with_next_header(frame, IPPROTO_HOPOPTS);
}

/// Writes the shortest message of neighbour discovery (RFC 4861, section 4.1), from the packet's source to its
/// destination.
std::size_t as_router_solicitation(const Frame& frame, std::uint8_t hop_limit) {
  constexpr std::size_t kMessageBytes = 8;
  std::uint8_t* const message = frame.ip() + kIpv6Bytes;
  with_payload_length(frame, kMessageBytes);
  with_next_header(frame, IPPROTO_ICMPV6);
  with_hop_limit(frame, hop_limit);
  std::memset(message, 0, kMessageBytes);
  message[0] = 133;
  store(message + 2, checksum_of(ipv6_pseudo_sum(frame.ip(), IPPROTO_ICMPV6, kMessageBytes) + ones_sum(message, 2)));
  return kEthernetBytes + kIpv6Bytes + kMessageBytes;
}

/// Writes a router solicitation to all routers of the link. The source may be unspecified.
std::size_t as_question_to_routers(const Frame& frame, Ipv6Address source) {
  with_address(frame, kSourceAt, source);
  with_address(frame, kDestinationAt, kAllRouters);
  return as_router_solicitation(frame, 255);
}

std::size_t to_group_of_stations(const Frame& frame) {
  store_mac(frame.bytes, {0x333300000001});
  return frame.size;
}

std::size_t as_ipv4(const Frame& frame) {
  odd::with_ethertype(frame, 0x0800);
  std::uint8_t* ip = frame.ip();
  std::memset(ip, 0, kIpv4Bytes);
  ip[0] = 0x45;
  store_be16(ip + 2, static_cast<std::uint16_t>(frame.size - kEthernetBytes));
  ip[8] = 64;
  ip[9] = 253;  // Protocol number for experiments (RFC 3692).
  store_be32(ip + 12, 0xC0000201);
  store_be32(ip + 16, 0xC6336400 | frame.random.below(1 << 8));
  write_ipv4_checksum(ip);
  return frame.size;
}

constexpr std::array<odd::Oddity, 43> kIpv6Oddities{
    [](const Frame& frame) { return with_hop_limit(frame, 1); },
    [](const Frame& frame) { return with_hop_limit(frame, 0); },
    [](const Frame& frame) { return with_first_byte(frame, 0x50); },
    [](const Frame& frame) { return with_first_byte(frame, 0x45); },
    [](const Frame& frame) { return with_first_byte(frame, 0x00); },
    with_full_class_and_label,
    [](const Frame& frame) { return with_payload_length(frame, frame.size - kEthernetBytes - kIpv6Bytes + 1); },
    [](const Frame& frame) { return with_payload_length(frame, 0xFFFF); },
    [](const Frame& frame) { return with_payload_length(frame, frame.random.below(8)); },  // The rest is padding.
    as_jumbogram,
    [](const Frame& frame) { return odd::cut(frame, 54, 8); },
    [](const Frame& frame) { return odd::cut(frame, 14, 40); },
    [](const Frame& frame) { return odd::cut(frame, 1, 13); },
    // The options are: router alert (RFC 2711) with padding; padding; a routing header without segments left.
    [](const Frame& frame) { return with_extension(frame, IPPROTO_HOPOPTS, IPPROTO_NONE, 0x000502, 0x00000100); },
    [](const Frame& frame) { return with_extension(frame, IPPROTO_DSTOPTS, IPPROTO_NONE, 0x000104, 0); },
    [](const Frame& frame) { return with_extension(frame, IPPROTO_ROUTING, IPPROTO_NONE, 0x000000, 0); },
    [](const Frame& frame) { return with_next_header(frame, IPPROTO_NONE); },
    [](const Frame& frame) { return as_ipv6_fragment(frame, 1); },
    [](const Frame& frame) { return as_ipv6_fragment(frame, (1 + frame.random.below(1000)) << 3); },
    [](const Frame& frame) { return with_address(frame, kSourceAt, kUnspecified); },
    [](const Frame& frame) { return with_address(frame, kSourceAt, kLoopback); },
    [](const Frame& frame) { return with_address(frame, kSourceAt, some_mapped_address(frame.random)); },
    [](const Frame& frame) { return with_address(frame, kSourceAt, some_group(frame.random, 0xE)); },
    [](const Frame& frame) { return with_address(frame, kSourceAt, some_link_local_address(frame.random)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, kUnspecified); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, kLoopback); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_mapped_address(frame.random)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_link_local_address(frame.random)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_group(frame.random, 0)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_group(frame.random, 1)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_group(frame.random, 2)); },
    [](const Frame& frame) { return with_address(frame, kDestinationAt, some_group(frame.random, 0xE)); },
    [](const Frame& frame) {  // From the unspecified address to a multicast address.
      with_address(frame, kSourceAt, kUnspecified);
      return with_address(frame, kDestinationAt, some_group(frame.random, 2));
    },
    [](const Frame& frame) { return as_question_to_routers(frame, some_link_local_address(frame.random)); },
    [](const Frame& frame) { return as_question_to_routers(frame, kUnspecified); },
    [](const Frame& frame) { return as_router_solicitation(frame, 255); },
    // The hop limit shows that a router forwarded the message.
    [](const Frame& frame) { return as_router_solicitation(frame, 64); },
    to_group_of_stations,
    odd::to_all_stations,
    odd::as_arp_request,
    as_ipv4,
    odd::as_vlan,
    odd::as_lldp,
};

}  // namespace

std::size_t make_odd_ipv6(Random& random, std::uint8_t* frame, std::size_t bytes) {
  return kIpv6Oddities[random.below(kIpv6Oddities.size())]({random, frame, bytes});
}

}  // namespace penumbra::io
