// SPDX-License-Identifier: Apache-2.0
//
// Reads fields of frames that a benchmark has generated, so their format is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"

namespace penumbra::bench {

/// Returns the number of `bytes` bytes in network byte order at offset `at`.
inline std::uint64_t number_at(std::span<const std::uint8_t> frame, std::size_t at, std::size_t bytes) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : frame.subspan(at, bytes)) number = number << 8 | byte;
  return number;
}
inline MacAddress destination_mac(std::span<const std::uint8_t> frame) {
  return {number_at(frame, 0, 6)};
}
inline std::uint32_t ipv4_destination(std::span<const std::uint8_t> frame) {
  return static_cast<std::uint32_t>(number_at(frame, 14 + 16, 4));
}
inline ipv6_address ipv6_destination(std::span<const std::uint8_t> frame) {
  return {number_at(frame, 14 + 24, 8), number_at(frame, 14 + 32, 8)};
}

}  // namespace penumbra::bench
