// SPDX-License-Identifier: Apache-2.0
#include "penumbra/ip.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

#include "penumbra/bytes.h"

namespace penumbra {
namespace {

/// Removes a decimal number of at most `most` from the front of `text`; no sign, no leading zeros.
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

std::optional<Ipv6Address> parse_ipv6_address(std::string_view text) {
  char copy[INET6_ADDRSTRLEN];  // Includes the terminating zero, which inet_pton() needs.
  if (text.size() >= sizeof copy || text.find('\0') != std::string_view::npos) return std::nullopt;
  copy[text.copy(copy, text.size())] = '\0';
  in6_addr bytes;
  if (inet_pton(AF_INET6, copy, &bytes) != 1) return std::nullopt;
  return Ipv6Address{load_be64(bytes.s6_addr), load_be64(bytes.s6_addr + 8)};
}

std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text) {
  if (text == "default") return Ipv6Prefix{};
  const std::size_t slash = text.find('/');
  const auto address = parse_ipv6_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  Ipv6Prefix prefix{*address, 128};
  if (slash != std::string_view::npos) {
    text.remove_prefix(slash + 1);
    const auto length = take_decimal(text, 128);
    if (!length || !text.empty()) return std::nullopt;
    prefix.length = static_cast<std::uint8_t>(*length);
  }
  const Ipv6Address bits = prefix.mask();
  if ((address->high & ~bits.high) != 0 || (address->low & ~bits.low) != 0) return std::nullopt;
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

std::string to_string(Ipv6Address address) {
  std::uint8_t bytes[16];
  store(bytes, __builtin_bswap64(address.high));
  store(bytes + 8, __builtin_bswap64(address.low));
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, bytes, text, sizeof text);
}

std::string to_string(Ipv6Prefix prefix) {
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
