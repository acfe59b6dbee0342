// SPDX-License-Identifier: Apache-2.0
//
// Frames as the oracle reads them: slowly, byte by byte. The code is independent of the router's, so that a mistake
// stays unnoticed only if it is made twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penumbra::cli::verify {

using Frame = std::span<const std::uint8_t>;

inline constexpr std::size_t kEthernetBytes = 14;

/// Returns the 16-bit number in network byte order at `offset`.
inline unsigned read16(Frame bytes, std::size_t offset) {
  return bytes[offset] * 256U + bytes[offset + 1];
}
/// Returns the 32-bit number in network byte order at `offset`.
inline std::uint32_t read32(Frame bytes, std::size_t offset) {
  return read16(bytes, offset) * 65536U + read16(bytes, offset + 2);
}

}  // namespace penumbra::cli::verify
