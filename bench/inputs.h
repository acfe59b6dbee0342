// SPDX-License-Identifier: Apache-2.0
//
// Shared parts of the table benchmarks: tables, addresses, and the oracle's answers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/prefix_oracle.h"
#include "bench.h"
#include "control/routes.h"
#include "penumbra/ip.h"
#include "penumbra/ipv6_address.h"
#include "tables/dir24_8/dir24_8.h"
#include "tables/ipv6/ipv6_prefixes.h"

namespace penumbra::bench {

/// Types of an address family: an address in a shader's column, and a prefix with its next hop.
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

/// A table in which each prefix occurs once, shorter prefixes first.
template <class Family>
struct InputTableOf {
  std::string description;
  control::RouteListOf<Family> routes;
  std::vector<EntryOf<Family>> entries;  ///< Route i as an entry, with the number of its target as next hop.
  std::uint16_t next_hops = 0;           ///< Next hops are below this.
};
struct InputTable : InputTableOf<Ipv4> {
  std::uint32_t groups = 0;  ///< Number of /24s that contain longer prefixes.
};
using Ipv6InputTable = InputTableOf<Ipv6>;

/// Returns the table of the given file, or a generated table of 900,000 prefixes. Throws InputError for a bad file, and
/// std::invalid_argument if it has more different targets than a 16-bit entry can hold.
InputTable input_table(const Options& options);
/// Returns a generated IPv6 table of 235,000 prefixes, or that of the given file. Throws as input_table().
Ipv6InputTable ipv6_input_table(const Options& options);

/// A set of addresses to look up.
template <class Family>
struct InputAddressesOf {
  std::string name;
  std::string description;
  std::vector<ColumnOf<Family>> addresses;
};
using InputAddresses = InputAddressesOf<Ipv4>;

/// Returns `count` addresses, drawn uniformly from all addresses.
InputAddresses uniform_addresses(std::size_t count, std::uint64_t seed);
/// Returns `count` addresses, each drawn uniformly from a prefix that is drawn uniformly from the table.
template <class Family>
InputAddressesOf<Family> prefix_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint64_t seed);
/// Returns addresses like those of a trace. Flows have destinations as in prefix_addresses(). The k-th busiest flow has
/// a share of the packets proportional to k^-exponent (Zipf).
template <class Family>
InputAddressesOf<Family> trace_addresses(const InputTableOf<Family>& table, std::size_t count, std::uint32_t flows,
                                         double exponent, std::uint64_t seed);

template <class Family>
using OracleOf = PrefixOracle<Family, EntryOf<Family>>;
using Oracle = OracleOf<Ipv4>;
/// Returns the oracle's next hop of each address. Looks them up in sorted order, which is faster than single look-ups.
template <class Family>
std::vector<std::uint16_t> next_hops(const OracleOf<Family>& oracle, std::span<const ColumnOf<Family>> addresses);

}  // namespace penumbra::bench
