// SPDX-License-Identifier: Apache-2.0
//
// Knows the right answers in advance while routes change. A plan names prefixes that alternate between two states, at
// any time and in any order. For every address it gives the set of next hops that some combination of states yields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penumbra/ip.h"

namespace penumbra::bench {

/// A route with the number of its next hop.
struct KnownRoute {
  Ipv4Prefix prefix;
  std::uint16_t hop = 0;
};

/// The two states of a prefix, the initial state first; none: the prefix is not in the table.
struct PlannedChange {
  Ipv4Prefix prefix;
  std::optional<std::uint16_t> first, second;
};

class ChurnTruth {
 public:
  static constexpr std::uint16_t kMostHops = 32;  ///< Each hop is one bit of a mask.

  /// Plans changes to `routes`. 20,000 routes change their next hop. 10,000 routes inside another route are removed and
  /// added again. 10,000 new prefixes of 25 to 28 bits are added and removed inside routes of at most 24 bits.
  ChurnTruth(std::vector<KnownRoute> routes, std::uint16_t hops, std::uint64_t seed);

  const std::vector<PlannedChange>& plan() const { return plan_; }
  std::string description() const;

  /// Returns a mask of the next hops that may be right for the address in any state.
  std::uint32_t allowed(std::uint32_t address) const {
    const std::uint32_t known = by_24_[address >> 8];
    return known != 0 ? known : walk(address);
  }

 private:
  /// Node of a binary trie.
  struct Node {
    std::uint32_t child[2] = {0, 0};  ///< Index of the child; 0: none.
    std::uint32_t hops = 0;           ///< Mask of the hops of the prefix that ends here; 0: no prefix ends here.
    bool may_be_gone =
        false;  ///< True if the prefix may be absent; the hops of shorter prefixes may then be right too.
  };
  /// Returns the mask for addresses that the node's prefix covers, given the mask `shorter` of the shorter prefixes.
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
  std::vector<std::uint32_t> by_24_;  ///< Mask for all addresses of a /24 without longer prefixes, else 0.
};

}  // namespace penumbra::bench
