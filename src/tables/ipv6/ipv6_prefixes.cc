// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6/ipv6_prefixes.h"

#include <bit>
#include <iterator>

namespace penumbra {
namespace {

/// Returns the number of leading bits that two different addresses share.
unsigned common_bits(Ipv6Address a, Ipv6Address b) {
  const std::uint64_t high = a.high ^ b.high;
  return static_cast<unsigned>(high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(a.low ^ b.low));
}

}  // namespace

std::optional<std::uint16_t> Ipv6Prefixes::find(Ipv6Prefix prefix) const {
  const auto found = map_.find(prefix);
  return found == map_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Ipv6Entry> Ipv6Prefixes::match(Ipv6Address address, unsigned longest) const {
  for (;;) {
    auto found = map_.upper_bound(Ipv6Prefix::around(address, longest));
    if (found == map_.begin()) return std::nullopt;
    --found;
    if (found->first.contains(address)) return Ipv6Entry{found->first, found->second};
    // A prefix that covers the address precedes and covers `found`, so its length is at most the number of common bits.
    longest = common_bits(found->first.address, address);
  }
}

}  // namespace penumbra
