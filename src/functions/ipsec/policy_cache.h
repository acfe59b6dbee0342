// SPDX-License-Identifier: Apache-2.0
//
// Remembers the policies of recent flows, because the policies of a list are compared one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "functions/ipsec/snapshot.h"

namespace penumbra::ipsec {

/// Belongs to a worker. An entry holds for one snapshot.
class PolicyCache {
 public:
  PolicyCache() : entries_(kEntries) {}

  Found find(const Snapshot& snapshot, control::xfrm::Direction direction, const Flow& flow) noexcept {
    const auto way = static_cast<std::size_t>(direction);
    const std::size_t hash =
        AddressHash::of(flow.source, std::uint64_t{flow.source_port} << 32U | flow.destination_port) * kOdd +
        AddressHash::of(flow.destination, std::uint64_t{flow.protocol} << 8U | way);
    Entry& entry = entries_[hash * kOdd >> (64U - kEntriesBits)];
    if (entry.generation != snapshot.generation || entry.direction != direction || entry.flow != flow) {
      entry = {.generation = snapshot.generation,
               .direction = direction,
               .flow = flow,
               .found = find_policy(list_of(snapshot, direction), flow)};
    }
    return entry.found;
  }

 private:
  static constexpr unsigned kEntriesBits = 11;
  static constexpr std::size_t kEntries = std::size_t{1} << kEntriesBits, kOdd = 0x9E3779B97F4A7C15U;
  struct Entry {
    std::uint64_t generation = 0;
    control::xfrm::Direction direction = control::xfrm::Direction::in;
    Flow flow;
    Found found;
  };

  static std::span<const PolicyEntry> list_of(const Snapshot& snapshot, control::xfrm::Direction direction) {
    if (direction == control::xfrm::Direction::in) return snapshot.in;
    return direction == control::xfrm::Direction::out ? snapshot.out : snapshot.forward;
  }

  std::vector<Entry> entries_;
};

}  // namespace penumbra::ipsec
