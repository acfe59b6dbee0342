// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penumbra::control::rules {

/// Parses a number from 0 to `most`. It is decimal without leading zeros, which C would read as octal, or hexadecimal
/// after 0x. Returns nothing for other text.
inline std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t most) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  if (!hexadecimal && text.size() > 1 && text.front() == '0') return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal ? 16 : 10);
  if (failure != std::errc{} || end != text.data() + text.size() || number > most) return std::nullopt;
  return number;
}

}  // namespace penumbra::control::rules
