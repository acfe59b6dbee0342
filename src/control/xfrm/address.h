// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penumbra::control::xfrm {

/// Holds an address of either family in network byte order, as xfrm_address_t does. IPv4 uses the first four bytes. The
/// family is part of what contains the address.
struct Address {
  std::array<std::uint8_t, 16> bytes{};

  auto operator<=>(const Address&) const = default;
  bool is_any() const { return *this == Address{}; }
};

/// Parses an address of `family` (AF_INET or AF_INET6).
std::optional<Address> parse_address(std::string_view text, std::uint16_t family);
/// Returns the text of an address. A family other than AF_INET and AF_INET6 counts as AF_INET.
std::string to_string(const Address& address, std::uint16_t family);
/// Returns the number of bits of an address of `family`; 0 if the family is neither AF_INET nor AF_INET6.
unsigned address_bits(std::uint16_t family);
/// Returns true if the first `bits` bits of both addresses are equal. `bits` is 0 to 128.
bool has_prefix(const Address& address, const Address& prefix, unsigned bits);

}  // namespace penumbra::control::xfrm
