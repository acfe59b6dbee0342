// SPDX-License-Identifier: Apache-2.0
//
// Provides helpers for odd packets of both address families, and oddities of the frame itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/random.h"
#include "io/packet_bytes.h"

namespace penumbra::io::odd {

/// A frame under construction.
struct Frame {
  Random& random;
  std::uint8_t* bytes;
  std::size_t size;
  std::uint8_t* ip() const { return bytes + kEthernetBytes; }
};

/// Changes the frame and returns its new size.
using Oddity = std::size_t (*)(const Frame&);

inline std::size_t with_first_byte(const Frame& frame, std::uint8_t value) {
  frame.ip()[0] = value;
  return frame.size;
}

inline std::size_t with_ethertype(const Frame& frame, std::uint16_t value) {
  store_be16(frame.bytes + 12, value);
  return frame.size;
}

inline std::size_t to_all_stations(const Frame& frame) {
  std::memset(frame.bytes, 0xFF, 6);
  return frame.size;
}

/// Returns a size of `least` bytes plus a random number below `range`.
inline std::size_t cut(const Frame& frame, std::size_t least, std::uint32_t range) {
  return least + frame.random.below(range);
}

inline std::size_t as_arp_request(const Frame& frame) {
  to_all_stations(frame);
  with_ethertype(frame, 0x0806);
  std::uint8_t* arp = frame.ip();
  std::memset(arp, 0, frame.size - kEthernetBytes);
  store_be32(arp, 0x00010800);      // Ethernet, IPv4.
  store_be32(arp + 4, 0x06040001);  // Address lengths, request.
  std::memcpy(arp + 8, frame.bytes + 6, 6);
  store_be32(arp + 14, 0x0A000001);
  store_be32(arp + 24, 0x0A0000FE);
  return 60;
}

inline std::size_t as_vlan(const Frame& frame) {
  std::memmove(frame.bytes + 16, frame.bytes + 12, frame.size - 16);
  with_ethertype(frame, 0x8100);
  store_be16(frame.bytes + 14, static_cast<std::uint16_t>(1 + frame.random.below(4094)));
  return frame.size;
}

/// Sets the ethertype of LLDP, which no function handles.
inline std::size_t as_lldp(const Frame& frame) {
  return with_ethertype(frame, 0x88CC);
}

}  // namespace penumbra::io::odd
