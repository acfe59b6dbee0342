// SPDX-License-Identifier: Apache-2.0
//
// What the table benchmarks share: a table, addresses, and an oracle that is slow and obvious.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "control/routes.h"
#include "shaders/dir24_8/dir24_8.h"

namespace penumbra::bench {

/// A table: each prefix once, shorter prefixes first.
struct InputTable {
  std::string description;
  control::RouteList routes;
  std::vector<Dir24_8::Entry> entries;  ///< route i as an entry: the number of its target is the next hop
  std::uint32_t groups = 0;             ///< /24s with longer prefixes in them
  std::uint16_t next_hops = 0;          ///< next hops are below this
};

/// The file that was asked for, else a generated table of 900,000 prefixes. Throws InputError for a bad file and
/// std::invalid_argument if it has more different targets than a 16-bit entry can hold.
InputTable input_table(const Options& options);

/// A set of addresses to look up, in host byte order.
struct InputAddresses {
  std::string name;
  std::string description;
  std::vector<std::uint32_t> addresses;
};

/// `count` addresses drawn evenly from all that there are.
InputAddresses uniform_addresses(std::size_t count, std::uint64_t seed);
/// A prefix of the table drawn evenly, then an address in it.
InputAddresses prefix_addresses(const InputTable& table, std::size_t count, std::uint64_t seed);
/// Like a trace: flows have destinations as in prefix_addresses(), and the k-th busiest of them a share of the packets
/// proportional to k^-exponent (Zipf).
InputAddresses trace_addresses(const InputTable& table, std::size_t count, std::uint32_t flows, double exponent,
                               std::uint64_t seed);

/// Longest-prefix match by the book: a trie of single bits, walked from the root, the last next hop met wins.
class Oracle {
 public:
  explicit Oracle(std::span<const Dir24_8::Entry> entries);
  void insert(Dir24_8::Entry entry);
  std::uint16_t match(std::uint32_t address) const;
  /// All of them. Faster than one by one, for it takes them in order of address.
  std::vector<std::uint16_t> match(std::span<const std::uint32_t> addresses) const;

 private:
  struct Node {
    std::uint32_t child[2] = {0, 0};  ///< 0: none, for the root is nobody's child
    std::uint16_t next_hop = Dir24_8::kNoRoute;
  };
  std::vector<Node> nodes_{Node{}};
};

}  // namespace penumbra::bench
