// SPDX-License-Identifier: Apache-2.0
//
// An oracle and helpers for the tests of all IPv6 tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "penumbra/table.h"
#include "tables/ipv6/ipv6_lookup.h"

namespace penumbra::ipv6_oracle {

/// Returns an empty table of the structure under test. Each test program defines it.
std::unique_ptr<Ipv6Lookup> make_table(GracePeriods& grace_periods);

inline Ipv6Prefix prefix(const char* text) {
  const auto parsed = parse_ipv6_prefix(text);
  if (!parsed) throw std::logic_error(text);
  return *parsed;
}

inline Ipv6Address address(const char* text) {
  const auto parsed = parse_ipv6_address(text);
  if (!parsed) throw std::logic_error(text);
  return *parsed;
}

/// Longest-prefix match by definition: one map per length, searched from the longest.
class Oracle {
 public:
  bool insert(Ipv6Prefix prefix, std::uint16_t next_hop) {
    return maps_[prefix.length].insert_or_assign(prefix.address, next_hop).second;
  }
  bool remove(Ipv6Prefix prefix) { return maps_[prefix.length].erase(prefix.address) == 1; }
  void clear() {
    for (auto& map : maps_) map.clear();
  }
  std::optional<std::uint16_t> find(Ipv6Prefix prefix) const {
    const auto found = maps_[prefix.length].find(prefix.address);
    return found == maps_[prefix.length].end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Ipv6Entry> match(Ipv6Address address) const {
    for (unsigned length = 129; length-- > 0;) {
      if (maps_[length].empty()) continue;
      const Ipv6Prefix prefix = Ipv6Prefix::around(address, length);
      if (const auto next_hop = find(prefix)) return Ipv6Entry{prefix, *next_hop};
    }
    return std::nullopt;
  }
  /// Returns the right answer of a lookup.
  std::uint16_t lookup(Ipv6Address address) const {
    const auto best = match(address);
    return best ? best->next_hop : Ipv6Lookup::kNoRoute;
  }
  std::size_t size() const {
    std::size_t size = 0;
    for (const auto& map : maps_) size += map.size();
    return size;
  }

 private:
  struct Hash {
    std::size_t operator()(Ipv6Address address) const {
      return Random::mixed(address.high ^ Random::mixed(address.low));
    }
  };
  std::array<std::unordered_map<Ipv6Address, std::uint16_t, Hash>, 129> maps_;
};

inline std::vector<Ipv6Entry> entries_of(const Ipv6Lookup& table) {
  std::vector<Ipv6Entry> entries;
  table.for_each([&entries](const Ipv6Entry& entry) { entries.push_back(entry); });
  return entries;
}

inline ipv6_address column(Ipv6Address address) {
  return {address.high, address.low};
}
inline std::vector<ipv6_address> columns(const std::vector<Ipv6Address>& addresses) {
  std::vector<ipv6_address> result;
  result.reserve(addresses.size());
  for (const Ipv6Address each : addresses) result.push_back(column(each));
  return result;
}

inline Ipv6Address before(Ipv6Address address) {
  return {address.high - (address.low == 0 ? 1 : 0), address.low - 1};
}
inline Ipv6Address after(Ipv6Address address) {
  return {address.high + (address.low == ~std::uint64_t{0} ? 1 : 0), address.low + 1};
}

/// Adds the first, the last and a random address of a prefix, and both neighbours.
inline void add_probes(Ipv6Prefix prefix, Random& random, std::vector<Ipv6Address>& to) {
  const Ipv6Address first = prefix.address, last = prefix.last();
  const Ipv6Address any{(random.next() & ~prefix.mask().high) | first.high,
                        (random.next() & ~prefix.mask().low) | first.low};
  to.insert(to.end(), {first, last, any, before(first), after(last)});
}

/// Returns overlapping prefixes of all lengths. Each is random or shares leading bits with an earlier one.
inline std::vector<Ipv6Prefix> nested_prefixes(std::size_t count, Random& random) {
  std::vector<Ipv6Prefix> prefixes;
  while (prefixes.size() < count) {
    Ipv6Address bits{random.next(), random.next()};
    if (!prefixes.empty() && random.below(16) != 0) {
      const Ipv6Prefix outer = prefixes[random.below(static_cast<std::uint32_t>(prefixes.size()))];
      const Ipv6Address mask = Ipv6Prefix{{}, static_cast<std::uint8_t>(random.below(129))}.mask();
      bits = {(outer.address.high & mask.high) | (bits.high & ~mask.high),
              (outer.address.low & mask.low) | (bits.low & ~mask.low)};
    }
    prefixes.push_back(Ipv6Prefix::around(bits, random.below(129)));
  }
  return prefixes;
}

}  // namespace penumbra::ipv6_oracle
