// SPDX-License-Identifier: Apache-2.0
#include "tables/ipv6/ipv6_lookup.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace penumbra {
namespace {

void require_valid(Ipv6Prefix prefix) {
  if (prefix.length > 128 || Ipv6Prefix::around(prefix.address, prefix.length) != prefix) {
    throw std::invalid_argument(to_string(prefix) + " is not a prefix: it has bits set past its length");
  }
}

void require_next_hop(std::uint16_t next_hop) {
  if (next_hop >= Ipv6Lookup::kMaxNextHops) {
    throw std::length_error("next hop " + std::to_string(next_hop) + " is past the IPv6 table's limit of " +
                            std::to_string(Ipv6Lookup::kMaxNextHops) + " next hops; let routes share next hops");
  }
}

void require_room(std::size_t prefixes) {
  if (prefixes == Ipv6Lookup::kMaxPrefixes) {
    throw std::length_error("the IPv6 table is full: its limit is " + std::to_string(Ipv6Lookup::kMaxPrefixes) +
                            " prefixes; aggregate or filter routes");
  }
}

}  // namespace

bool Ipv6Lookup::insert(Ipv6Prefix prefix, std::uint16_t next_hop) {
  require_valid(prefix);
  require_next_hop(next_hop);
  const std::optional<std::uint16_t> before = prefixes_.find(prefix);
  if (before == next_hop) return false;
  if (!before) require_room(size());
  prefixes_.insert(prefix, next_hop);
  try {
    put(prefix, next_hop, !before);
  } catch (...) {
    if (before) {
      prefixes_.insert(prefix, *before);
    } else {
      prefixes_.remove(prefix);
    }
    throw;
  }
  return !before;
}

bool Ipv6Lookup::remove(Ipv6Prefix prefix) {
  const std::optional<std::uint16_t> before = find(prefix);
  if (!before) return false;
  prefixes_.remove(prefix);
  try {
    take(prefix, *before);
  } catch (...) {
    prefixes_.insert(prefix, *before);
    throw;
  }
  return true;
}

void Ipv6Lookup::load(std::span<const Entry> entries) {
  Ipv6Prefixes next;
  for (const auto& [prefix, next_hop] : entries) {
    require_valid(prefix);
    require_next_hop(next_hop);
    if (next.size() == kMaxPrefixes && !next.find(prefix)) require_room(next.size());
    next.insert(prefix, next_hop);
  }
  std::swap(prefixes_, next);
  try {
    rebuild();
  } catch (...) {
    std::swap(prefixes_, next);
    throw;
  }
}

std::optional<std::uint16_t> Ipv6Lookup::find(Ipv6Prefix prefix) const {
  require_valid(prefix);
  return prefixes_.find(prefix);
}

void Ipv6Lookup::for_each(const std::function<void(const Entry&)>& visit) const {
  for (const auto& [prefix, next_hop] : prefixes_) visit({prefix, next_hop});
}

}  // namespace penumbra
