// SPDX-License-Identifier: Apache-2.0
#include "functions/forwarding/buckets.h"

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace penumbra::forwarding {
namespace {

constexpr std::uint16_t kNobody = 0xFFFF;

/// Returns the number of buckets of each claim. Claims for less than one bucket get one; the other claims share the
/// rest by largest remainders.
std::vector<std::uint32_t> shares_of(std::span<const BucketClaim> claims) {
  std::vector<std::uint32_t> shares(claims.size(), 0);
  std::uint64_t weight = 0;
  for (const BucketClaim& claim : claims) weight += claim.weight;
  std::uint64_t rest = kBuckets;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (shares[i] != 0 || claims[i].weight * rest >= weight) continue;
      shares[i] = 1;
      weight -= claims[i].weight;
      --rest;
      again = true;
    }
  }
  std::vector<std::size_t> sharing;
  std::uint64_t left = rest;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (shares[i] != 0) continue;
    sharing.push_back(i);
    shares[i] = static_cast<std::uint32_t>(claims[i].weight * rest / weight);
    left -= shares[i];
  }
  std::sort(sharing.begin(), sharing.end(), [&](std::size_t a, std::size_t b) {
    const auto remainder = [&](std::size_t i) { return claims[i].weight * rest % weight; };
    return remainder(a) != remainder(b) ? remainder(a) > remainder(b) : claims[a].identity < claims[b].identity;
  });
  for (std::size_t i = 0; i < left; ++i) ++shares[sharing[i]];
  return shares;
}

/// Generates the order in which a claim requests buckets. The order contains every bucket, because an odd step visits
/// all residues of a power of two.
class Permutation {
 public:
  explicit Permutation(std::uint64_t identity)
      : next_(Random::mixed(identity)), step_(Random::mixed(identity + Random::kIncrement) | 1) {}
  std::size_t next() {
    next_ += step_;
    return next_ % kBuckets;
  }

 private:
  std::uint64_t next_, step_;
};

}  // namespace

std::array<std::uint16_t, kBuckets> fill_buckets(std::span<const BucketClaim> claims) {
  const std::vector<std::uint32_t> shares = shares_of(claims);
  struct Turn {
    std::uint16_t claim;
    std::uint32_t credit;
    Permutation permutation;
  };
  std::vector<Turn> turns;
  turns.reserve(claims.size());
  for (const BucketClaim& claim : claims) {
    turns.push_back({static_cast<std::uint16_t>(turns.size()), 0, Permutation(claim.identity)});
  }
  std::sort(turns.begin(), turns.end(),
            [&](const Turn& a, const Turn& b) { return claims[a.claim].identity < claims[b.claim].identity; });

  // A claim takes a bucket for each `largest` of credit, so that after `largest` rounds it has exactly its share.
  const std::uint32_t largest = *std::max_element(shares.begin(), shares.end());
  std::array<std::uint16_t, kBuckets> owner;
  owner.fill(kNobody);
  for (std::uint32_t round = 0; round < largest; ++round) {
    for (Turn& turn : turns) {
      turn.credit += shares[turn.claim];
      if (turn.credit < largest) continue;
      turn.credit -= largest;
      std::size_t bucket = turn.permutation.next();
      while (owner[bucket] != kNobody) bucket = turn.permutation.next();
      owner[bucket] = turn.claim;
    }
  }
  return owner;
}

}  // namespace penumbra::forwarding
