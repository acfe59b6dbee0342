// SPDX-License-Identifier: Apache-2.0
//
// Bytes as words of hexadecimal digits, for programs that run vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penumbra {

/// The word for no bytes.
inline constexpr char kNoBytes[] = "-";

/// Returns the bytes of a word. Throws std::invalid_argument for another character.
inline std::vector<std::uint8_t> bytes_of_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  if (text == kNoBytes) return bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::string hex_of(const std::vector<std::uint8_t>& bytes) {
  if (bytes.empty()) return kNoBytes;
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte / 16];
    text += "0123456789abcdef"[byte % 16];
  }
  return text;
}

}  // namespace penumbra
