// SPDX-License-Identifier: Apache-2.0
//
// Distributes the flows of one destination over several next hops. A table of buckets is filled in proportion to the
// weights of the next hops. The flow hash of a packet selects the bucket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penumbra::forwarding {

/// Represents a next hop that takes part in the distribution.
struct BucketClaim {
  std::uint64_t identity = 0;  ///< identifies the next hop in all sets; unique within a set
  std::uint32_t weight = 1;    ///< at least 1
};

inline constexpr std::size_t kBuckets = 1024;
inline constexpr std::size_t kMaxClaims = 256;

/// Returns for each of the kBuckets buckets the index of its claim. `claims` has 1 to kMaxClaims elements.
///
/// The shares are the whole numbers nearest to the weights (largest remainders), with at least one bucket for every
/// claim. The buckets of a claim depend on its identity, not on its position in the list. The buckets change little
/// when other claims are added or removed: Maglev's population (Eisenbud et al., NSDI 2016, section 3.4).
std::array<std::uint16_t, kBuckets> fill_buckets(std::span<const BucketClaim> claims);

}  // namespace penumbra::forwarding
