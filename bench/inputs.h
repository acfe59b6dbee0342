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
#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/ipv6/ipv6_prefixes.h"

namespace penumbra::bench {

/// Of an address family: an address as a shader's column has it, and a prefix with its next hop.
template <class Family>
struct Column;
template <>
struct Column<Ipv4> {
  using Address = std::uint32_t;
  using Entry = Dir24_8::Entry;
};
template <>
struct Column<Ipv6> {
  using Address = ipv6_address;
  using Entry = Ipv6Entry;
};
template <class Family>
using ColumnOf = typename Column<Family>::Address;
template <class Family>
using EntryOf = typename Column<Family>::Entry;

inline std::uint32_t column_of(Ipv4Address address) {
  return address.value;
}
inline ipv6_address column_of(Ipv6Address address) {
  return {address.high, address.low};
}
inline Ipv4Address address_of(std::uint32_t column) {
  return {column};
}
inline Ipv6Address address_of(ipv6_address column) {
  return {column.high, column.low};
}

/// A table: each prefix once, shorter prefixes first.
template <class Family>
struct InputTableOf {
  std::string description;
  control::RouteListOf<Family> routes;
  std::vector<EntryOf<Family>> entries;  ///< route i as an entry: the number of its target is the next hop
  std::uint16_t next_hops = 0;           ///< next hops are below this
};
struct InputTable : InputTableOf<Ipv4> {
  std::uint32_t groups = 0;  ///< /24s with longer prefixes in them
};
using Ipv6InputTable = InputTableOf<Ipv6>;

/// The file that was asked for, else a generated table of 900,000 prefixes. Throws InputError for a bad file and
/// std::invalid_argument if it has more different targets than a 16-bit entry can hold.
InputTable input_table(const Options& options);
/// Likewise; 235,000 prefixes are generated.
Ipv6InputTable ipv6_input_table(const Options& options);

/// A set of addresses to look up.
template <class Family>
struct InputAddressesOf {
  std::string name;
  std::string description;
  std::vector<ColumnOf<Family>> addresses;
};
using InputAddresses = InputAddressesOf<Ipv4>;

/// `count` addresses drawn evenly from all that there are.
InputAddresses uniform_addresses(std::size_t count, std::uint64_t seed);
/// A prefix of the table drawn evenly, then an address in it.
template <class Family>
InputAddressesOf<Family> prefix_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint64_t seed);
/// Like a trace: flows have destinations as in prefix_addresses(), and the k-th busiest of them a share of the packets
/// proportional to k^-exponent (Zipf).
template <class Family>
InputAddressesOf<Family> trace_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint32_t flows,
                                         double exponent, std::uint64_t seed);

/// Longest-prefix match by the book: a trie of single bits, walked from the root, the last next hop met wins.
template <class Family>
class OracleOf {
 public:
  using Entry = EntryOf<Family>;
  using Address = ColumnOf<Family>;

  explicit OracleOf(std::span<const Entry> entries);
  void insert(Entry entry);
  std::uint16_t match(Address address) const;
  /// All of them. Faster than one by one, for it takes them in order of address.
  std::vector<std::uint16_t> match(std::span<const Address> addresses) const;

 private:
  static constexpr std::uint16_t kNoRoute = 0xFFFF;
  struct Node {
    std::uint32_t child[2] = {0, 0};  ///< 0: none, for the root is nobody's child
    std::uint16_t next_hop = kNoRoute;
  };
  std::vector<Node> nodes_{Node{}};
};
using Oracle = OracleOf<Ipv4>;

}  // namespace penumbra::bench
