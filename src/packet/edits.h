// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes fields of headers. packet/mbuf_edits.h changes the size of a packet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "penumbra/bytes.h"
#include "penumbra/ip.h"

namespace penumbra {

/// Returns the MAC address at `bytes`.
inline MacAddress mac_at(const std::uint8_t* bytes) {
  return {std::uint64_t{load_be32(bytes)} << 16 | load_be16(bytes + 4)};
}
inline void store_mac(std::uint8_t* bytes, MacAddress mac) {
  store_be32(bytes, static_cast<std::uint32_t>(mac.value >> 16));
  store_be16(bytes + 4, static_cast<std::uint16_t>(mac.value));
}

/// Decrements a TTL of at least 1 and updates the checksum by RFC 1624, equation 3: HC' = ~(~HC + ~m + m'). With m' = m
/// - 0x0100, the equation adds 0x0100 to HC in one's complement. The sum is never 0xFFFF, so the result equals
/// recomputation. In the byte order of memory the addend is 1 (RFC 1071, section 2B).
inline void decrement_ttl(std::uint8_t* ipv4_header) {
  constexpr std::size_t kTtlAt = 8, kChecksumAt = 10;
  const auto checksum = load<std::uint16_t>(ipv4_header + kChecksumAt);
  ipv4_header[kTtlAt] = static_cast<std::uint8_t>(ipv4_header[kTtlAt] - 1);
  store(ipv4_header + kChecksumAt, static_cast<std::uint16_t>(checksum + 1 + (checksum >= 0xFFFE ? 1 : 0)));
}
/// Decrements a hop limit of at least 1.
inline void decrement_hop_limit(std::uint8_t* ipv6_header) {
  constexpr std::size_t kHopLimitAt = 7;
  ipv6_header[kHopLimitAt] = static_cast<std::uint8_t>(ipv6_header[kHopLimitAt] - 1);
}

}  // namespace penumbra
