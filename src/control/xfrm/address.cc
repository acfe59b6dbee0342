// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/address.h"

#include <arpa/inet.h>

#include <cstring>

namespace penumbra::control::xfrm {

std::optional<Address> parse_address(std::string_view text, std::uint16_t family) {
  Address address;
  if (inet_pton(family, std::string(text).c_str(), address.bytes.data()) != 1) return std::nullopt;
  return address;
}

std::string to_string(const Address& address, std::uint16_t family) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

unsigned address_bits(std::uint16_t family) {
  return family == AF_INET ? 32 : family == AF_INET6 ? 128 : 0;
}

bool has_prefix(const Address& address, const Address& prefix, unsigned bits) {
  const unsigned whole = bits / 8, rest = bits % 8;
  if (std::memcmp(address.bytes.data(), prefix.bytes.data(), whole) != 0) return false;
  if (rest == 0) return true;
  const unsigned mask = 0xFF00U >> rest & 0xFFU;
  return ((address.bytes.at(whole) ^ prefix.bytes.at(whole)) & mask) == 0;
}

}  // namespace penumbra::control::xfrm
