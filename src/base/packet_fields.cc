// SPDX-License-Identifier: Apache-2.0
#include "base/packet_fields.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>

#include "penumbra/ip.h"

namespace penumbra::packet_fields {
namespace {

using Form = FieldPlace::Form;

/// Returns the number of leading ones if all other bits of the field are 0.
std::optional<unsigned> prefix_length(Number mask, unsigned bits) {
  if (bits == 128) {
    const auto high = static_cast<unsigned>(std::countl_one(mask.high));
    const auto low = static_cast<unsigned>(std::countl_one(mask.low));
    const unsigned length = high < 64 ? high : 64 + low;
    const bool is_prefix = static_cast<unsigned>(std::popcount(mask.high) + std::popcount(mask.low)) == length;
    return is_prefix ? std::optional(length) : std::nullopt;
  }
  const auto length = static_cast<unsigned>(std::popcount(mask.low));
  const std::uint64_t prefix = all_bits(bits).low & ~all_bits(bits - length).low;
  return mask.low == prefix ? std::optional(length) : std::nullopt;
}

std::string number_text(const FieldPlace& place, Number number) {
  switch (place.form) {
    case Form::decimal:
      return std::to_string(number.low);
    case Form::hexadecimal:
      return fmt::format("{:#06x}", number.low);
    case Form::mac:
      return to_string(MacAddress{number.low});
    case Form::ipv4:
      return to_string(Ipv4Address{static_cast<std::uint32_t>(number.low)});
    case Form::ipv6:
      break;
  }
  return to_string(Ipv6Address{.high = number.high, .low = number.low});
}

std::optional<std::uint64_t> parse_integer(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Number> parse_number(const FieldPlace& place, std::string_view text) {
  std::optional<Number> number;
  if (place.form == Form::mac) {
    if (const auto mac = parse_mac_address(text)) number = Number{0, mac->value};
  } else if (place.form == Form::ipv4) {
    if (const auto address = parse_ipv4_address(text)) number = Number{0, address->value};
  } else if (place.form == Form::ipv6) {
    if (const auto address = parse_ipv6_address(text)) number = Number{address->high, address->low};
  } else if (const auto integer = parse_integer(text)) {
    number = Number{0, *integer};
  }
  const Number all = all_bits(place.bits);
  if (!number || (number->high & ~all.high) != 0 || (number->low & ~all.low) != 0) return std::nullopt;
  return number;
}

bool is_address(Form form) {
  return form == Form::ipv4 || form == Form::ipv6;
}

}  // namespace

Number prefix_mask(unsigned length, unsigned bits) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const auto upper = [](unsigned count) { return count == 0 ? 0 : kAll << (64 - count); };
  if (bits == 128) return length <= 64 ? Number{upper(length), 0} : Number{kAll, upper(length - 64)};
  return {0, all_bits(bits).low & ~all_bits(bits - length).low};
}

SparseWords field_bits() {
  SparseWords bits{};
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    set(bits, field, all_bits(place_of(field).bits));
  }
  return bits;
}

std::optional<Field> find_field(std::string_view name) {
  for (std::size_t i = 0; i < kFields; ++i) {
    if (kPlaces[i].name == name) return static_cast<Field>(i);
  }
  return std::nullopt;
}

std::string field_text(Field field, Number value, Number mask) {
  const FieldPlace& place = place_of(field);
  std::string text = number_text(place, value);
  if (mask == all_bits(place.bits)) return text;
  if (is_address(place.form)) {
    if (const auto length = prefix_length(mask, place.bits)) return fmt::format("{}/{}", text, *length);
  }
  return text + "/" + number_text(place, mask);
}

std::optional<MaskedNumber> parse_field(Field field, std::string_view text) {
  const FieldPlace& place = place_of(field);
  const std::size_t slash = text.find('/');
  const auto value = parse_number(place, text.substr(0, slash));
  if (!value) return std::nullopt;
  std::optional<Number> mask = all_bits(place.bits);
  if (slash != std::string_view::npos) {
    const std::string_view after = text.substr(slash + 1);
    const auto length = is_address(place.form) ? parse_integer(after) : std::nullopt;
    if (length && *length > place.bits) return std::nullopt;
    mask = length ? prefix_mask(static_cast<unsigned>(*length), place.bits) : parse_number(place, after);
  }
  if (!mask) return std::nullopt;
  return MaskedNumber{{value->high & mask->high, value->low & mask->low}, *mask};
}

std::uint16_t in_port_of(const SparseMatch& match) {
  const bool is_exact = get(match.mask, Field::in_port) == all_bits(place_of(Field::in_port).bits);
  return is_exact ? static_cast<std::uint16_t>(get(match.value, Field::in_port).low) : std::uint16_t{0};
}

std::string match_text(const SparseMatch& match) {
  std::string text;
  for (std::size_t i = 0; i < kFields; ++i) {
    const auto field = static_cast<Field>(i);
    const Number mask = get(match.mask, field);
    if (mask == Number{}) continue;
    if (!text.empty()) text += ',';
    text += fmt::format("{}={}", kPlaces[i].name, field_text(field, get(match.value, field), mask));
  }
  return text.empty() ? "any" : text;
}

}  // namespace penumbra::packet_fields
