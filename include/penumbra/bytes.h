// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes numbers in packets, of any alignment, in host or network byte order.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>

namespace penumbra {

/// Returns the number at `bytes` in host byte order.
template <std::unsigned_integral Number>
Number load(const std::uint8_t* bytes) {
  Number value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Writes `value` to `bytes` in host byte order.
template <std::unsigned_integral Number>
void store(std::uint8_t* bytes, Number value) {
  std::memcpy(bytes, &value, sizeof value);
}

/// Returns the two bytes at `bytes`, read in network order.
inline std::uint16_t load_be16(const std::uint8_t* bytes) {
  return __builtin_bswap16(load<std::uint16_t>(bytes));
}
/// Returns the four bytes at `bytes`, read in network order.
inline std::uint32_t load_be32(const std::uint8_t* bytes) {
  return __builtin_bswap32(load<std::uint32_t>(bytes));
}
/// Returns the eight bytes at `bytes`, read in network order.
inline std::uint64_t load_be64(const std::uint8_t* bytes) {
  return __builtin_bswap64(load<std::uint64_t>(bytes));
}

/// Writes the number in network order.
inline void store_be16(std::uint8_t* bytes, std::uint16_t value) {
  store(bytes, __builtin_bswap16(value));
}
/// Writes the number in network order.
inline void store_be32(std::uint8_t* bytes, std::uint32_t value) {
  store(bytes, __builtin_bswap32(value));
}
/// Writes the number in network order.
inline void store_be64(std::uint8_t* bytes, std::uint64_t value) {
  store(bytes, __builtin_bswap64(value));
}

}  // namespace penumbra
