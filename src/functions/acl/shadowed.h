// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "functions/acl/entry.h"

namespace penumbra::acl {

/// Represents an entry that never decides, and the earlier entry that matches all its packets. Both are places in the
/// list.
struct Shadowed {
  std::size_t entry;
  std::size_t by;

  bool operator==(const Shadowed&) const = default;
};

/// Maximum number of comparisons of one search. This number takes less than a second, even if each comparison misses
/// the caches.
inline constexpr std::size_t kMostComparisons = 5'000'000;

/// Finds entries that a single earlier entry covers, in the order of the list. An entry that only several entries
/// together cover is not found.
///
/// The search ends after `most` results or `comparisons` comparisons. The search may therefore miss entries of a long
/// list with many different masks or many ranges of ports. `fields` is the key format of `entries`.
std::vector<Shadowed> find_shadowed(std::span<const Entry> entries, RuleFields fields, std::size_t most,
                                    std::size_t comparisons = kMostComparisons);

}  // namespace penumbra::acl
