// SPDX-License-Identifier: Apache-2.0
//
// An oracle and helpers for the tests of the IPv4 table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "base/sanitizer_scale.h"
#include "base/testing_grace_periods.h"
#include "dir24_8.h"
#include "dir24_8.shader.h"

namespace penumbra::dir24_8_oracle {

inline Ipv4Prefix prefix(const char* text) {
  const auto parsed = parse_ipv4_prefix(text);
  if (!parsed) throw std::logic_error(text);
  return *parsed;
}

inline Ipv4Prefix prefix_of(std::uint32_t address, unsigned length) {
  return Ipv4Prefix::around({address}, length);
}

/// Longest-prefix match by definition: one map per length, searched from the longest.
class Oracle {
 public:
  bool insert(Ipv4Prefix prefix, std::uint16_t next_hop) {
    return maps_[prefix.length].insert_or_assign(key(prefix), next_hop).second;
  }
  bool remove(Ipv4Prefix prefix) { return maps_[prefix.length].erase(key(prefix)) == 1; }
  void clear() {
    for (auto& map : maps_) map.clear();
  }

  std::optional<std::uint16_t> find(Ipv4Prefix prefix) const {
    const auto found = maps_[prefix.length].find(key(prefix));
    return found == maps_[prefix.length].end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Dir24_8::Entry> match(Ipv4Address address) const {
    for (unsigned length = 33; length-- > 0;) {
      if (maps_[length].empty()) continue;
      const Ipv4Prefix prefix = prefix_of(address.value, length);
      if (const auto next_hop = find(prefix)) return Dir24_8::Entry{prefix, *next_hop};
    }
    return std::nullopt;
  }
  /// Returns the right answer of a lookup.
  std::uint16_t lookup(Ipv4Address address) const {
    const auto best = match(address);
    return best ? best->next_hop : Dir24_8::kNoRoute;
  }

  std::size_t size() const {
    std::size_t size = 0;
    for (const auto& map : maps_) size += map.size();
    return size;
  }
  /// Returns the entries in the order of address, then length.
  std::vector<Dir24_8::Entry> entries() const {
    std::vector<Dir24_8::Entry> entries;
    for (unsigned length = 0; length <= 32; ++length) {
      for (const auto& [number, next_hop] : maps_[length]) {
        entries.push_back(
            {prefix_of(static_cast<std::uint32_t>(std::uint64_t{number} << (32 - length)), length), next_hop});
      }
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.prefix < b.prefix; });
    return entries;
  }

 private:
  /// Returns the number of a prefix among all prefixes of its length. Neighbours hash to neighbouring buckets, which
  /// makes the maps many times faster.
  static std::uint32_t key(Ipv4Prefix prefix) {
    return static_cast<std::uint32_t>(std::uint64_t{prefix.address.value} >> (32 - prefix.length));
  }

  std::array<std::unordered_map<std::uint32_t, std::uint16_t>, 33> maps_;
};

inline std::vector<Dir24_8::Entry> entries_of(const Dir24_8& table) {
  std::vector<Dir24_8::Entry> entries;
  table.for_each([&entries](const Dir24_8::Entry& entry) { entries.push_back(entry); });
  return entries;
}

/// A copy of the memory that readers see.
struct LookupMemory {
  explicit LookupMemory(Dir24_8& table) {
    const auto& view = *static_cast<const dir24_8_view*>(table.table().view());
    tbl24.assign(view.tbl24, view.tbl24 + (1U << 24));
    tbl8.assign(view.tbl8, view.tbl8 + Dir24_8::kMaxGroups * DIR24_8_GROUP_ENTRIES);
  }
  bool operator==(const LookupMemory&) const = default;
  std::vector<std::uint16_t> tbl24, tbl8;
};

}  // namespace penumbra::dir24_8_oracle
