// SPDX-License-Identifier: Apache-2.0
//
// How the flows of one destination are shared out over several next hops: a table of buckets, filled in proportion to
// the weights, that a flow hash points into.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penumbra::forwarding {

/// One of the next hops that share the buckets.
struct BucketClaim {
  std::uint64_t identity = 0;  ///< says who it is in every set that it is in; different within one set
  std::uint32_t weight = 1;    ///< at least 1
};

inline constexpr std::size_t kBuckets = 1024;
inline constexpr std::size_t kMaxClaims = 256;

/// For each of the kBuckets buckets the index of its claim. The shares are the whole numbers nearest to the weights
/// (largest remainders) that leave every claim at least one. Which buckets a claim gets depends on its identity, not on
/// its place in the list, and changes little when others come or go: Maglev's population (Eisenbud et al., NSDI 2016,
/// section 3.4). 1 to kMaxClaims claims.
std::array<std::uint16_t, kBuckets> fill_buckets(std::span<const BucketClaim> claims);

}  // namespace penumbra::forwarding
