// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penumbra {

/// An IPv4 address in host byte order: 192.0.2.1 is 0xC0000201.
struct Ipv4Address {
  std::uint32_t value = 0;
  auto operator<=>(const Ipv4Address&) const = default;
  /// Returns true if a host may have the address and routers forward it. Excludes 0/8 ("this network"), 127/8, 224/4
  /// and 240/4 (RFC 6890).
  constexpr bool is_unicast() const { return (value >> 24) - 1 < 223 && value >> 24 != 127; }
};

/// An IPv4 prefix. `length` is 0 to 32; `address` has no bits set past `length`.
struct Ipv4Prefix {
  Ipv4Address address;
  std::uint8_t length = 0;

  auto operator<=>(const Ipv4Prefix&) const = default;
  std::uint32_t mask() const { return length == 0 ? 0 : ~std::uint32_t{0} << (32 - length); }
  bool contains(Ipv4Address other) const { return ((other.value ^ address.value) & mask()) == 0; }
  /// Returns the last address of the prefix.
  Ipv4Address last() const { return {address.value | ~mask()}; }
  /// Returns the prefix of length `length` that covers the address.
  static Ipv4Prefix around(Ipv4Address inside, unsigned length) {
    Ipv4Prefix prefix{inside, static_cast<std::uint8_t>(length)};
    prefix.address.value &= prefix.mask();
    return prefix;
  }
};

/// An IPv6 address in host byte order: 2001:db8::1 is {0x20010DB800000000, 1}.
struct Ipv6Address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Ipv6Address&) const = default;
  bool is_multicast() const { return high >> 56 == 0xFF; }
  /// Returns true for fe80::/10 (RFC 4291, section 2.5.6).
  bool is_link_local() const { return high >> 54 == 0xFE80 >> 6; }
  /// Returns true if a host may have the address. Excludes multicast, :: and ::1, and IPv4-mapped addresses
  /// (::ffff:0:0/96), which no packet carries (RFC 4291, sections 2.5 to 2.7; RFC 6890).
  bool is_unicast() const { return !is_multicast() && (high != 0 || (low > 1 && low >> 32 != 0xFFFF)); }
};

/// An IPv6 prefix. `length` is 0 to 128; `address` has no bits set past `length`.
struct Ipv6Prefix {
  Ipv6Address address;
  std::uint8_t length = 0;

  auto operator<=>(const Ipv6Prefix&) const = default;
  Ipv6Address mask() const {
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    return {length == 0 ? 0 : length >= 64 ? kAll : kAll << (64 - length), length <= 64 ? 0 : kAll << (128 - length)};
  }
  bool contains(Ipv6Address other) const {
    const Ipv6Address bits = mask();
    return ((other.high ^ address.high) & bits.high) == 0 && ((other.low ^ address.low) & bits.low) == 0;
  }
  /// Returns the last address of the prefix.
  Ipv6Address last() const {
    const Ipv6Address bits = mask();
    return {address.high | ~bits.high, address.low | ~bits.low};
  }
  /// Returns the prefix of length `length` that covers the address.
  static Ipv6Prefix around(Ipv6Address inside, unsigned length) {
    Ipv6Prefix prefix{inside, static_cast<std::uint8_t>(length)};
    const Ipv6Address bits = prefix.mask();
    prefix.address = {inside.high & bits.high, inside.low & bits.low};
    return prefix;
  }
};

/// A 48-bit MAC address in transmission order, in the low 48 bits: 02:00:00:00:00:01 is 0x020000000001.
struct MacAddress {
  std::uint64_t value = 0;
  auto operator<=>(const MacAddress&) const = default;
  bool is_multicast() const { return (value >> 40 & 1) != 0; }
};

/// Parses a dotted quad: four decimal parts without leading zeros. Returns nothing for any other text.
std::optional<Ipv4Address> parse_ipv4_address(std::string_view text);
/// Parses ADDRESS/LENGTH, ADDRESS alone for a host prefix, or `default`. Returns nothing if bits past the length are
/// set.
std::optional<Ipv4Prefix> parse_ipv4_prefix(std::string_view text);
/// Parses an address that inet_pton() accepts: no zone, no brackets.
std::optional<Ipv6Address> parse_ipv6_address(std::string_view text);
/// Parses ADDRESS/LENGTH, ADDRESS alone for a host prefix, or `default`. Returns nothing if bits past the length are
/// set.
std::optional<Ipv6Prefix> parse_ipv6_prefix(std::string_view text);
/// Parses six pairs of hexadecimal digits joined by colons.
std::optional<MacAddress> parse_mac_address(std::string_view text);

std::string to_string(Ipv4Address address);
std::string to_string(Ipv4Prefix prefix);    ///< Always with the length.
std::string to_string(Ipv6Address address);  ///< In the form of RFC 5952.
std::string to_string(Ipv6Prefix prefix);    ///< Always with the length.
std::string to_string(MacAddress mac);

namespace detail {

inline std::uint64_t mix(std::uint64_t bits) {
  bits *= 0x9E3779B97F4A7C15U;
  return bits ^ bits >> 32;
}

}  // namespace detail

/// Returns a hash for hash tables whose size is a power of two.
inline std::uint64_t hash(Ipv4Prefix prefix) {
  return detail::mix(std::uint64_t{prefix.address.value} << 8 | prefix.length);
}
inline std::uint64_t hash(Ipv6Prefix prefix) {
  return detail::mix(detail::mix(prefix.address.high) + prefix.address.low * 2 + prefix.length);
}

/// The address families, for code that handles both.
struct Ipv4 {
  using AddressFamily = Ipv4;  ///< The family of derived classes, too.
  using Address = Ipv4Address;
  using Prefix = Ipv4Prefix;
  static constexpr std::uint8_t kBits = 32;
  static constexpr std::string_view kName = "IPv4", kForm = "A.B.C.D";
  static std::optional<Address> parse_address(std::string_view text) { return parse_ipv4_address(text); }
  static std::optional<Prefix> parse_prefix(std::string_view text) { return parse_ipv4_prefix(text); }
};
struct Ipv6 {
  using AddressFamily = Ipv6;
  using Address = Ipv6Address;
  using Prefix = Ipv6Prefix;
  static constexpr std::uint8_t kBits = 128;
  static constexpr std::string_view kName = "IPv6", kForm = "X:X::X";
  static std::optional<Address> parse_address(std::string_view text) { return parse_ipv6_address(text); }
  static std::optional<Prefix> parse_prefix(std::string_view text) { return parse_ipv6_prefix(text); }
};

}  // namespace penumbra
