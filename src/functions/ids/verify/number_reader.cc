// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/verify/number_reader.h"

#include <bit>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

namespace penumbra::ids {
namespace {

std::optional<std::uint64_t> read_binary(bool little_endian, std::span<const std::uint8_t> bytes) {
  if (bytes.size() > 8) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value = value << 8 | bytes[little_endian ? bytes.size() - 1 - i : i];
  }
  return value;
}

/// Takes the prefix off a text whose base is not given: "0x" is hexadecimal, "0" is octal.
int detect_base(std::string_view& text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    return 16;
  }
  return text.starts_with('0') ? 8 : 10;
}

std::optional<std::uint64_t> read_text(NumberField::Base base, std::span<const std::uint8_t> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && (text.front() == ' ' || (text.front() >= '\t' && text.front() <= '\r')))
    text.remove_prefix(1);
  int radix = 10;
  switch (base) {
    case NumberField::Base::decimal:
      break;
    case NumberField::Base::octal:
      radix = 8;
      break;
    case NumberField::Base::automatic:
      radix = detect_base(text);
      break;
    case NumberField::Base::hexadecimal:
      radix = 16;
      if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
      break;
  }
  std::uint64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> read_number(const NumberField& field, std::span<const std::uint8_t> bytes) {
  auto value = field.is_text ? read_text(field.base, bytes) : read_binary(field.little_endian, bytes);
  if (value && field.bitmask != 0) *value = (*value & field.bitmask) >> std::countr_zero(field.bitmask);
  return value;
}

}  // namespace penumbra::ids
