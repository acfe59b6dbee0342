// SPDX-License-Identifier: Apache-2.0
#include "io/pcapng_sections.h"

#include <array>
#include <cstdint>
#include <fstream>

namespace penumbra::io {
namespace {

// The format is in draft-ietf-opsawg-pcapng, sections 3.1 and 4.1.
constexpr std::uint32_t kSectionHeader = 0x0A0D0D0A;  // Equal in both byte orders.
constexpr std::uint32_t kByteOrder = 0x1A2B3C4D;
constexpr std::uint32_t kLeastBlock = 12;

}  // namespace

bool has_mixed_byte_orders(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  bool first = true, swapped = false;
  std::array<std::uint32_t, 3> head{};  // Type, length, and a section's byte order.
  while (in.read(reinterpret_cast<char*>(head.data()), sizeof head)) {
    if (head[0] == kSectionHeader) {
      const bool now = head[2] == __builtin_bswap32(kByteOrder);
      if (!now && head[2] != kByteOrder) return false;
      if (!first && now != swapped) return true;
      swapped = now;
    } else if (first) {
      return false;
    }
    first = false;
    const std::uint32_t length = swapped ? __builtin_bswap32(head[1]) : head[1];
    if (length < kLeastBlock) return false;
    in.seekg(static_cast<std::streamoff>(length) - static_cast<std::streamoff>(sizeof head), std::ios::cur);
  }
  return false;
}

}  // namespace penumbra::io
