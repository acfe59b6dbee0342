// SPDX-License-Identifier: Apache-2.0
#include "functions/ids/rules/words.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace penumbra::ids {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Reads "A<>B" or "A-B" without the ends.
std::optional<Interval> parse_range(std::string_view text, std::uint64_t most) {
  for (const std::string_view separator : {"<>", "-"}) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos || at == 0) continue;
    const auto low = parse_unsigned(trim(text.substr(0, at)));
    const auto high = parse_unsigned(trim(text.substr(at + separator.size())));
    if (!low || !high || *high > most || *high < 2 || *low > *high - 2) return std::nullopt;
    return Interval{*low + 1, *high - 1, false};
  }
  return std::nullopt;
}

}  // namespace

std::string_view trim_left(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

std::string_view trim_right(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

std::string_view trim(std::string_view text) {
  return trim_right(trim_left(text));
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

NameAndRest split_name(std::string_view text) {
  text = trim(text);
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  return {text.substr(0, end), trim_left(text.substr(end))};
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_signed(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto value = parse_unsigned(text);
  if (!value || *value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  const auto number = static_cast<std::int64_t>(*value);
  return negative ? -number : number;
}

std::optional<Interval> parse_interval(std::string_view text, std::uint64_t most) {
  text = trim(text);
  const std::size_t digits = std::min(text.find_first_not_of("<>=!"), text.size());
  const std::string_view sign = text.substr(0, digits);
  const auto value = parse_unsigned(trim(text.substr(digits)));
  if (!value) return sign.empty() ? parse_range(text, most) : std::nullopt;
  if (*value > most) return std::nullopt;
  if (sign.empty() || sign == "=") return Interval{*value, *value, false};
  if (sign == "!" || sign == "!=") return Interval{*value, *value, true};
  if (sign == "<=") return Interval{0, *value, false};
  if (sign == ">=") return Interval{*value, most, false};
  if (sign == "<" && *value > 0) return Interval{0, *value - 1, false};
  if (sign == ">" && *value < most) return Interval{*value + 1, most, false};
  return std::nullopt;
}

}  // namespace penumbra::ids
