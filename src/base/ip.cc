// SPDX-License-Identifier: Apache-2.0
#include "penumbra/ip.h"

#include <charconv>

namespace penumbra {
namespace {

/// Takes a decimal number of at most `most` off the front of `text`; no sign, no leading zeros.
std::optional<std::uint32_t> take_decimal(std::string_view& text, std::uint32_t most) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || number > most || (digits > 1 && text.front() == '0')) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<Ipv4Address> take_address(std::string_view& text) {
  Ipv4Address address;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !take(text, '.')) return std::nullopt;
    const auto number = take_decimal(text, 255);
    if (!number) return std::nullopt;
    address.value = address.value << 8 | *number;
  }
  return address;
}

}  // namespace

std::optional<Ipv4Address> parse_ipv4_address(std::string_view text) {
  const auto address = take_address(text);
  return text.empty() ? address : std::nullopt;
}

std::optional<Ipv4Prefix> parse_ipv4_prefix(std::string_view text) {
  if (text == "default") return Ipv4Prefix{};
  const auto address = take_address(text);
  if (!address) return std::nullopt;
  Ipv4Prefix prefix{*address, 32};
  if (!text.empty()) {
    if (!take(text, '/')) return std::nullopt;
    const auto length = take_decimal(text, 32);
    if (!length || !text.empty()) return std::nullopt;
    prefix.length = static_cast<std::uint8_t>(*length);
  }
  if ((prefix.address.value & ~prefix.mask()) != 0) return std::nullopt;
  return prefix;
}

std::optional<MacAddress> parse_mac_address(std::string_view text) {
  MacAddress mac;
  for (int part = 0; part < 6; ++part) {
    if (part > 0 && !take(text, ':')) return std::nullopt;
    std::uint32_t number = 0;
    const std::string_view pair = text.substr(0, 2);
    const auto [end, error] = std::from_chars(pair.data(), pair.data() + pair.size(), number, 16);
    if (error != std::errc{} || end != pair.data() + 2) return std::nullopt;
    text.remove_prefix(2);
    mac.value = mac.value << 8 | number;
  }
  return text.empty() ? std::optional(mac) : std::nullopt;
}

std::string to_string(Ipv4Address address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (shift < 24) text += '.';
    text += std::to_string(address.value >> shift & 0xFF);
  }
  return text;
}

std::string to_string(Ipv4Prefix prefix) {
  return to_string(prefix.address) + "/" + std::to_string(unsigned{prefix.length});
}

std::string to_string(MacAddress mac) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 40; shift >= 0; shift -= 8) {
    if (shift < 40) text += ':';
    text += kDigits[mac.value >> (shift + 4) & 0xF];
    text += kDigits[mac.value >> shift & 0xF];
  }
  return text;
}

}  // namespace penumbra
