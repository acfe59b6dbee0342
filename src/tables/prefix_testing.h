// SPDX-License-Identifier: Apache-2.0
//
// Provides helpers for the tests of tables that answer with the longest prefix, for both address families.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"

namespace penumbra::prefix_testing {

/// Returns the content of a table.
template <class Lpm>
std::vector<typename Lpm::Entry> entries_of(const Lpm& table) {
  std::vector<typename Lpm::Entry> entries;
  table.for_each([&entries](const auto& entry) { entries.push_back(entry); });
  return entries;
}

/// Returns the address in the form that shaders read.
inline std::uint32_t column(Ipv4Address address) {
  return address.value;
}
inline ipv6_address column(Ipv6Address address) {
  return {address.high, address.low};
}
template <class Address>
auto columns(const std::vector<Address>& addresses) {
  std::vector<decltype(column(Address{}))> result;
  result.reserve(addresses.size());
  for (const Address each : addresses) result.push_back(column(each));
  return result;
}

inline Ipv4Address before(Ipv4Address address) {
  return {address.value - 1};
}
inline Ipv6Address before(Ipv6Address address) {
  return {address.high - (address.low == 0 ? 1 : 0), address.low - 1};
}
inline Ipv4Address after(Ipv4Address address) {
  return {address.value + 1};
}
inline Ipv6Address after(Ipv6Address address) {
  return {address.high + (address.low == ~std::uint64_t{0} ? 1 : 0), address.low + 1};
}

inline Ipv4Address any_inside(Ipv4Prefix prefix, Random& random) {
  return {prefix.address.value | (static_cast<std::uint32_t>(random.next()) & ~prefix.mask())};
}
inline Ipv6Address any_inside(Ipv6Prefix prefix, Random& random) {
  const Ipv6Address mask = prefix.mask();
  const std::uint64_t high = random.next() & ~mask.high;
  return {prefix.address.high | high, prefix.address.low | (random.next() & ~mask.low)};
}

/// Adds the first, the last and a random address of a prefix, and both neighbours.
template <class Prefix>
void add_probes(Prefix prefix, Random& random, std::vector<decltype(Prefix::address)>& to) {
  const auto first = prefix.address, last = prefix.last();
  to.insert(to.end(), {first, last, any_inside(prefix, random), before(first), after(last)});
}

}  // namespace penumbra::prefix_testing
