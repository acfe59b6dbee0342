// SPDX-License-Identifier: Apache-2.0
//
// Parses the chain of extension headers of an IPv6 packet (RFC 8200, section 4). The parser is a pure function over
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/bytes.h"

namespace penumbra {

/// Next-header numbers of extension headers (IANA, "IPv6 Extension Header Types"). ESP is excluded, because the data
/// after it cannot be read. Mobility and HIP are excluded, because no header may follow them (RFC 6275, RFC 7401).
namespace ipv6_extension {
inline constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragment = 44, kAuthentication = 51, kDestination = 60,
                              kShim6 = 140;

constexpr bool contains(std::uint8_t next_header) {
  return next_header == kHopByHop || next_header == kRouting || next_header == kFragment ||
         next_header == kAuthentication || next_header == kDestination || next_header == kShim6;
}

/// Bit masks of extension headers.
enum Bits : std::uint8_t {
  kHopByHopBit = 1,
  kRoutingBit = 2,
  kFragmentBit = 4,
  kAuthenticationBit = 8,
  kDestinationBit = 16
};

constexpr std::uint8_t bit_of(std::uint8_t next_header) {
  switch (next_header) {
    case kHopByHop:
      return kHopByHopBit;
    case kRouting:
      return kRoutingBit;
    case kFragment:
      return kFragmentBit;
    case kAuthentication:
      return kAuthenticationBit;
    case kDestination:
      return kDestinationBit;
    default:
      return 0;
  }
}
}  // namespace ipv6_extension

/// Result of a walk over the chain of a packet's headers.
struct Ipv6Chain {
  /// The maximum number of extension headers to skip. Packets of the Internet seldom have more than two.
  static constexpr unsigned kMostHeaders = 8;

  std::size_t end = 0;       ///< Offset of the header after the last parsed header, from the packet's first byte.
  std::uint8_t next = 0;     ///< Number of the header at `end`.
  std::uint8_t headers = 0;  ///< ipv6_extension::Bits of the parsed headers.
  bool is_complete = false;  ///< True if `next` is not an extension header, or the packet is a later fragment.
  bool more_fragments = false;
  std::uint16_t offset = 0;  ///< Offset of the fragment, in bytes.

  /// Returns true for a fragment. A packet whose fragment header covers the whole packet (RFC 6946) is not a fragment.
  bool is_fragment() const { return more_fragments || offset != 0; }
};

/// Parses the chain of the packet at `packet`, of which the first `readable` bytes (at least 40) are present.
/// `readable` must not exceed the packet's own length. Stops at the first other header, at a later fragment, at missing
/// bytes, at a second fragment header, and after `most` extension headers.
inline Ipv6Chain read_ipv6_chain(const std::uint8_t* packet, std::size_t readable, unsigned most) {
  constexpr std::size_t kIpv6Header = 40, kLeastHeader = 8;
  constexpr std::uint16_t kMoreFragments = 0x0001, kOffset = 0xFFF8;
  Ipv6Chain chain{.end = kIpv6Header, .next = packet[6]};
  for (unsigned read = 0; ipv6_extension::contains(chain.next); ++read) {
    if (read == most || chain.end + kLeastHeader > readable) return chain;
    const std::uint8_t* const header = packet + chain.end;
    const std::uint8_t kind = chain.next;
    if (kind == ipv6_extension::kFragment) {
      if ((chain.headers & ipv6_extension::kFragmentBit) != 0) return chain;
      chain.offset = load_be16(header + 2) & kOffset;
      chain.more_fragments = (load_be16(header + 2) & kMoreFragments) != 0;
      chain.end += kLeastHeader;
    } else if (kind == ipv6_extension::kAuthentication) {
      chain.end += (std::size_t{header[1]} + 2) * 4;
    } else {
      chain.end += (std::size_t{header[1]} + 1) * 8;
    }
    chain.headers |= ipv6_extension::bit_of(kind);
    chain.next = header[0];
    if (chain.offset != 0) break;
  }
  chain.is_complete = true;
  return chain;
}

}  // namespace penumbra
