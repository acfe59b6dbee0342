// SPDX-License-Identifier: Apache-2.0
//
// Lets the packets of an SA leave in the order of their sequence numbers, although several workers seal them.
//
// A worker takes numbers before it seals, and another worker may be done with later numbers first. Without order, a
// packet is as late as the other worker seals meanwhile, and a peer with a small window drops it.
#pragma once

#include <rte_cycles.h>
#include <rte_pause.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "functions/ipsec/sa.h"

namespace penumbra::ipsec {

/// Numbers of one SA that a worker took together: `first` up to before `end`.
struct SealGroup {
  SequenceNumbers* numbers = nullptr;
  std::uint64_t first = 0, end = 0;
};

/// Waits until all numbers before those of `groups` have left, but not longer than `patience` cycles. Then the groups
/// have left, too: whoever waits for them goes on. Returns how many groups overtake others because the patience ended.
/// The elements of `groups` change.
inline std::size_t await_turns(std::span<SealGroup> groups, std::uint64_t patience) noexcept {
  std::size_t left = groups.size();
  const std::uint64_t begin = left == 0 ? 0 : rte_rdtsc();
  for (bool is_patient = true; left > 0;) {
    // A group does not wait for the others of its chunk. So two workers never wait for each other.
    for (std::size_t i = left; i-- > 0;) {
      if (!groups[i].numbers->is_turn(groups[i].first)) continue;
      groups[i].numbers->leave(groups[i].end);
      groups[i] = groups[--left];
    }
    if (left == 0 || !is_patient) break;
    rte_pause();
    is_patient = rte_rdtsc() - begin < patience;
  }
  for (const SealGroup& each : groups.first(left)) each.numbers->leave(each.end);
  return left;
}

}  // namespace penumbra::ipsec
