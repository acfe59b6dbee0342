// SPDX-License-Identifier: Apache-2.0
//
// What is right while routes change, known beforehand: a plan of prefixes that go back and forth between two states, at
// any time and in any order, and for every address the set of next hops that some combination of states gives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra::bench {

/// A route by the number of its next hop.
struct KnownRoute {
  Ipv4Prefix prefix;
  std::uint16_t hop = 0;
};

/// A prefix's two states. The first is the one at the beginning; none: it is not in the table.
struct PlannedChange {
  Ipv4Prefix prefix;
  std::optional<std::uint16_t> first, second;
};

class ChurnTruth {
 public:
  static constexpr std::uint16_t kMostHops = 32;  ///< a bit each

  /// Plans changes to these routes: 20,000 change their next hop, 10,000 that lie in another one go and come back, and
  /// 10,000 new ones of 25 to 28 bits come and go inside those of at most 24.
  ChurnTruth(std::vector<KnownRoute> routes, std::uint16_t hops, std::uint64_t seed);

  const std::vector<PlannedChange>& plan() const { return plan_; }
  std::string description() const;

  /// A bit for each next hop that may be right for the address, whatever the states are.
  std::uint32_t allowed(std::uint32_t address) const {
    const std::uint32_t known = by_24_[address >> 8];
    return known != 0 ? known : walk(address);
  }

 private:
  /// Of a trie of single bits.
  struct Node {
    std::uint32_t child[2] = {0, 0};  ///< 0: none
    std::uint32_t hops = 0;           ///< of the prefix that ends here; 0: none does
    bool may_be_gone = false;         ///< then what shorter prefixes say may be right too
  };
  /// What may be right once a prefix is known to cover the address, after `shorter` from the shorter ones.
  static std::uint32_t with(const Node& node, std::uint32_t shorter) {
    if (node.hops == 0) return shorter;
    return node.may_be_gone ? node.hops | shorter : node.hops;
  }
  void enter(const PlannedChange& change);
  bool is_known(Ipv4Prefix prefix) const;
  bool is_covered(Ipv4Prefix prefix) const;
  std::uint32_t walk(std::uint32_t address) const;
  void fill(std::uint32_t at, Ipv4Prefix place, std::uint32_t allowed);

  std::vector<Node> trie_{Node{}};
  std::vector<PlannedChange> plan_;
  std::vector<std::uint32_t> by_24_;  ///< the answer for all addresses of a /24 that has no longer prefixes; else 0
};

}  // namespace penumbra::bench
