// SPDX-License-Identifier: Apache-2.0
//
// Internet checksums (RFC 1071) and their incremental update (RFC 1624). Sums and checksums have the byte order of
// memory: load<std::uint16_t>() reads such a checksum from its field, and store() writes it. packet/mbuf.h sums over
// chains of segments.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "penumbra/bytes.h"

namespace penumbra {

/// Returns the ones' complement sum of `count` bytes, not folded. An odd last byte is padded with 0. Sums of parts that
/// begin at even offsets can be added.
inline std::uint64_t ones_sum(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + 4 <= count; at += 4) sum += load<std::uint32_t>(bytes + at);
  std::uint32_t rest = 0;
  if (at < count) std::memcpy(&rest, bytes + at, count - at);
  return sum + rest;
}

/// Folds a sum to 16 bits. Returns 0 only for 0.
inline std::uint16_t folded(std::uint64_t sum) {
  sum = (sum >> 32) + (sum & 0xFFFFFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  sum = (sum >> 16) + (sum & 0xFFFF);
  return static_cast<std::uint16_t>((sum >> 16) + sum);
}

/// Returns the checksum of words that add up to `sum`. The checksum field must count as 0.
inline std::uint16_t checksum_of(std::uint64_t sum) {
  return static_cast<std::uint16_t>(~folded(sum));
}
/// Like checksum_of(), but returns 0xFFFF for 0, which means no checksum in UDP (RFC 768).
inline std::uint16_t nonzero_checksum_of(std::uint64_t sum) {
  const std::uint16_t checksum = checksum_of(sum);
  return checksum == 0 ? 0xFFFF : checksum;
}
/// True if `sum` is the sum of words that include their right checksum.
inline bool is_right_sum(std::uint64_t sum) {
  return folded(sum) == 0xFFFF;
}

/// Returns the sum of the pseudo header of IPv4 (RFC 793). `header` points to the IPv4 header; `bytes` counts the
/// transport header and its data.
inline std::uint64_t ipv4_pseudo_sum(const std::uint8_t* header, std::uint8_t protocol, std::size_t bytes) {
  return ones_sum(header + 12, 8) + __builtin_bswap16(protocol) + __builtin_bswap16(static_cast<std::uint16_t>(bytes));
}
/// Returns the sum of the pseudo header of IPv6 (RFC 8200, section 8.1) of a packet without a routing header.
/// `protocol` is the number of the transport header.
inline std::uint64_t ipv6_pseudo_sum(const std::uint8_t* header, std::uint8_t protocol, std::size_t bytes) {
  return ones_sum(header + 8, 32) + __builtin_bswap16(protocol) + __builtin_bswap32(static_cast<std::uint32_t>(bytes));
}

/// True if an IPv4 header of `bytes` bytes, at least 20, has its right checksum.
inline bool ipv4_checksum_is_right(const std::uint8_t* header, std::size_t bytes) {
  constexpr std::size_t kLeastBytes = 20;
  const auto low_and_high = [](std::uint64_t both) { return (both & 0xFFFFFFFF) + (both >> 32); };
  std::uint64_t sum = low_and_high(load<std::uint64_t>(header)) + low_and_high(load<std::uint64_t>(header + 8)) +
                      load<std::uint32_t>(header + 16);
  for (std::size_t at = kLeastBytes; at < bytes; at += 4) sum += load<std::uint32_t>(header + at);
  return is_right_sum(sum);
}
/// Sets the checksum of an IPv4 header. The header's own length field gives its size.
inline void write_ipv4_checksum(std::uint8_t* header) {
  store<std::uint16_t>(header + 10, 0);
  store(header + 10, checksum_of(ones_sum(header, std::size_t{header[0] & 0xFU} * 4)));
}

/// Returns the checksum after a word of 16 or 32 bits changes from `before` to `after` (RFC 1624, equation 3). The word
/// is at an even offset. All numbers have the same byte order, which may be any.
template <std::unsigned_integral Word>
  requires(sizeof(Word) == 2 || sizeof(Word) == 4)
std::uint16_t updated_checksum(std::uint16_t checksum, Word before, Word after) {
  return checksum_of(std::uint64_t{static_cast<std::uint16_t>(~checksum)} + static_cast<Word>(~before) + after);
}

}  // namespace penumbra
