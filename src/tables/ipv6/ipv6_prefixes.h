// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "penumbra/ip.h"

namespace penumbra {

/// A prefix and its next hop.
struct Ipv6Entry {
  Ipv6Prefix prefix;
  std::uint16_t next_hop = 0;
  bool operator==(const Ipv6Entry&) const = default;
};

/// The prefixes of a table in the order of address, then length. Lookup structures are made from them. All prefixes
/// inside a prefix follow it directly.
class Ipv6Prefixes {
 public:
  using Map = std::map<Ipv6Prefix, std::uint16_t>;
  using Iterator = Map::const_iterator;

  /// Returns true if the prefix is new.
  bool insert(Ipv6Prefix prefix, std::uint16_t next_hop) { return map_.insert_or_assign(prefix, next_hop).second; }
  bool remove(Ipv6Prefix prefix) { return map_.erase(prefix) == 1; }
  std::optional<std::uint16_t> find(Ipv6Prefix prefix) const;
  /// Returns the longest prefix of at most `longest` bits (0 to 128) that covers the address.
  std::optional<Ipv6Entry> match(Ipv6Address address, unsigned longest) const;

  /// Returns the first prefix inside `prefix`, possibly `prefix` itself. If no prefix is inside, returns the next
  /// prefix after it.
  Iterator first_in(Ipv6Prefix prefix) const { return map_.lower_bound(prefix); }
  Iterator begin() const { return map_.begin(); }
  Iterator end() const { return map_.end(); }
  std::size_t size() const { return map_.size(); }
  std::size_t memory_bytes() const { return size() * kNodeBytes; }

 private:
  /// Size of a map node: three pointers and a colour besides the value.
  static constexpr std::size_t kNodeBytes = sizeof(Map::value_type) + 4 * sizeof(void*);
  Map map_;
};

}  // namespace penumbra
