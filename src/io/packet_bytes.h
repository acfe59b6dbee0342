// SPDX-License-Identifier: Apache-2.0
//
// Writes headers in network byte order and computes the Internet checksum (RFC 1071).
#pragma once

#include <cstddef>
#include <cstdint>

#include "penumbra/ip.h"

namespace penumbra::io {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kIpv4Bytes = 20;  ///< Bytes without options.
inline constexpr std::size_t kIpv6Bytes = 40;  ///< Bytes without extension headers.

inline void store16(std::uint8_t* at, std::uint16_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}
inline void store32(std::uint8_t* at, std::uint32_t value) {
  store16(at, static_cast<std::uint16_t>(value >> 16));
  store16(at + 2, static_cast<std::uint16_t>(value));
}
inline void store48(std::uint8_t* at, std::uint64_t value) {
  store16(at, static_cast<std::uint16_t>(value >> 32));
  store32(at + 2, static_cast<std::uint32_t>(value));
}
inline void store_address(std::uint8_t* at, Ipv4Address address) {
  store32(at, address.value);
}
inline void store_address(std::uint8_t* at, Ipv6Address address) {
  for (const std::uint64_t half : {address.high, address.low}) {
    store32(at, static_cast<std::uint32_t>(half >> 32));
    store32(at + 4, static_cast<std::uint32_t>(half));
    at += 8;
  }
}

/// Returns the unfolded sum of 16-bit words. `count` is even and at most 128 KiB.
inline std::uint32_t ones_sum(const std::uint8_t* bytes, std::size_t count) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < count; at += 2) sum += static_cast<std::uint32_t>(bytes[at] << 8 | bytes[at + 1]);
  return sum;
}
/// Returns the checksum of words that add up to `sum`.
inline std::uint16_t fold(std::uint32_t sum) {
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}
/// Sets the checksum of an IPv4 header. The header's own length field gives its size.
inline void write_checksum(std::uint8_t* ip) {
  store16(ip + 10, 0);
  store16(ip + 10, fold(ones_sum(ip, std::size_t{ip[0] & 0xFU} * 4)));
}

}  // namespace penumbra::io
