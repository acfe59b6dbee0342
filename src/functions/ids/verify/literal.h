// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace penumbra::ids {

/// Returns the byte with ASCII capitals made small. Other bytes stay, also those from 0x80.
constexpr std::uint8_t fold(std::uint8_t byte) {
  return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

/// Searches the bytes of a content.
class Literal {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Literal(const std::string& bytes, bool nocase);

  std::size_t size() const { return bytes_.size(); }
  /// Returns the first position from `from` at which the literal lies within `text`, or kNone.
  std::size_t find(std::span<const std::uint8_t> text, std::size_t from) const;
  bool matches_at(const std::uint8_t* text) const;

 private:
  std::string bytes_;  ///< Folded if `nocase_`.
  bool nocase_;
};

}  // namespace penumbra::ids
