// SPDX-License-Identifier: Apache-2.0
#include "churn_truth.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace penumbra::bench {
namespace {

constexpr std::size_t kReplaced = 20'000, kWithdrawn = 10'000, kNew = 10'000;

std::uint16_t other_than(std::uint16_t hop, std::uint16_t hops, std::mt19937_64& random) {
  return static_cast<std::uint16_t>((hop + 1 + random() % (hops - 1U)) % hops);
}

std::uint32_t bit_of(std::uint32_t address, unsigned depth) {
  return address >> (31 - depth) & 1;
}

}  // namespace

ChurnTruth::ChurnTruth(std::vector<KnownRoute> routes, std::uint16_t hops, std::uint64_t seed) : by_24_(1U << 24) {
  if (hops < 2 || hops > kMostHops) throw std::invalid_argument("between two and 32 next hops are needed");
  std::mt19937_64 random(seed);
  for (const KnownRoute& route : routes) enter({route.prefix, route.hop, route.hop});
  std::shuffle(routes.begin(), routes.end(), random);
  std::size_t replaced = 0, withdrawn = 0;
  std::vector<KnownRoute> unchanged;
  for (const KnownRoute& route : routes) {
    if (replaced < kReplaced) {
      plan_.push_back({route.prefix, route.hop, other_than(route.hop, hops, random)});
      ++replaced;
    } else if (withdrawn < kWithdrawn && is_covered(route.prefix)) {
      plan_.push_back({route.prefix, route.hop, std::nullopt});
      ++withdrawn;
    } else if (route.prefix.length <= 24) {
      unchanged.push_back(route);
    }
  }
  for (std::size_t made = 0; made < kNew && made < unchanged.size(); ++made) {
    const KnownRoute& cover = unchanged[made];
    Ipv4Prefix prefix{cover.prefix.address, static_cast<std::uint8_t>(25 + random() % 4)};
    prefix.address.value |= static_cast<std::uint32_t>(random()) & ~cover.prefix.mask() & prefix.mask();
    if (is_known(prefix)) continue;
    plan_.push_back({prefix, std::nullopt, other_than(cover.hop, hops, random)});
    enter(plan_.back());
  }
  for (const PlannedChange& change : plan_) enter(change);
  fill(0, {}, 0);
}

std::string ChurnTruth::description() const {
  return fmt::format(
      "{} prefixes go back and forth, drawn evenly: {} between two next hops, {} out of the table and back "
      "into it, {} new longer ones into it and out",
      plan_.size(), kReplaced, kWithdrawn, plan_.size() - kReplaced - kWithdrawn);
}

void ChurnTruth::enter(const PlannedChange& change) {
  std::uint32_t at = 0;
  for (unsigned depth = 0; depth < change.prefix.length; ++depth) {
    const std::uint32_t bit = bit_of(change.prefix.address.value, depth);
    if (trie_[at].child[bit] == 0) {
      trie_[at].child[bit] = static_cast<std::uint32_t>(trie_.size());
      trie_.emplace_back();
    }
    at = trie_[at].child[bit];
  }
  for (const auto& hop : {change.first, change.second}) {
    if (hop) trie_[at].hops |= 1U << *hop;
  }
  trie_[at].may_be_gone = !change.first || !change.second;
}

bool ChurnTruth::is_known(Ipv4Prefix prefix) const {
  std::uint32_t at = 0;
  for (unsigned depth = 0; depth < prefix.length; ++depth) {
    at = trie_[at].child[bit_of(prefix.address.value, depth)];
    if (at == 0) return false;
  }
  return trie_[at].hops != 0;
}

bool ChurnTruth::is_covered(Ipv4Prefix prefix) const {
  std::uint32_t at = 0;
  for (unsigned depth = 0; depth < prefix.length; ++depth) {
    if (trie_[at].hops != 0) return true;
    at = trie_[at].child[bit_of(prefix.address.value, depth)];
  }
  return false;
}

std::uint32_t ChurnTruth::walk(std::uint32_t address) const {
  std::uint32_t at = 0;
  std::uint32_t allowed = with(trie_[0], 0);
  for (unsigned depth = 0; depth < 32; ++depth) {
    at = trie_[at].child[bit_of(address, depth)];
    if (at == 0) break;
    allowed = with(trie_[at], allowed);
  }
  return allowed;
}

/// Fills by_24_ below a node. `allowed` is the mask of the prefixes above `place`, the node's place.
void ChurnTruth::fill(std::uint32_t at, Ipv4Prefix place, std::uint32_t allowed) {
  const Node node = trie_[at];
  allowed = with(node, allowed);
  if (place.length == 24) {
    by_24_[place.address.value >> 8] = node.child[0] == 0 && node.child[1] == 0 ? allowed : 0;
    return;
  }
  const auto length = static_cast<std::uint8_t>(place.length + 1);
  for (std::uint32_t bit = 0; bit < 2; ++bit) {
    const Ipv4Prefix half{{place.address.value | bit << (32 - length)}, length};
    if (node.child[bit] != 0) {
      fill(node.child[bit], half, allowed);
    } else {
      std::fill_n(by_24_.begin() + (half.address.value >> 8), std::size_t{1} << (24 - length), allowed);
    }
  }
}

}  // namespace penumbra::bench
