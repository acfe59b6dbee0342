// SPDX-License-Identifier: Apache-2.0
//
// States the requirements of an address family that the templates of this folder forward. The folder of a function
// defines such a class and registers its header with penumbra_address_family() of CMake. The sources of this folder
// instantiate their templates for each registered family (families.h, which CMake writes).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/structure_memory.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"
#include "penumbra/table.h"

namespace penumbra::forwarding {

/// Requires the results that the templates give packets. inspect() may return further enumerators.
template <class Outcome>
concept ForwardingOutcome = std::is_enum_v<Outcome> && requires {
  Outcome::runt;                 // the frame has no whole Ethernet header
  Outcome::wrong_mac;            // the frame is for another station
  Outcome::link_local;           // the packet has a link-local address
  Outcome::local;                // the packet is for this router
  Outcome::no_route;             // no prefix covers the destination
  Outcome::blackhole;            // the route is of kind blackhole
  Outcome::unreachable;          // the route is of kind unreachable
  Outcome::unreachable_by_host;  // the host has the same unreachable route
  Outcome::via_host;             // only the host reaches the next hop
  Outcome::unknown_neighbour;    // the next hop has no known MAC address
  Outcome::forward;              // all checks passed
};

/// Requires the owner of a table that maps prefixes to 16-bit next hops.
template <class Lookup, class Prefix, class Address>
concept LookupTableFor = requires(Lookup lookup, const Lookup& known, typename Lookup::Entry entry, Prefix prefix,
                                  Address address, std::uint16_t next_hop) {
  // A look-up has this result if no prefix covers the address.
  { Lookup::kNoRoute } -> std::convertible_to<std::uint16_t>;
  // An entry has a prefix.
  { entry.prefix } -> std::convertible_to<Prefix>;
  // An entry has the next hop of its prefix.
  { entry.next_hop } -> std::convertible_to<std::uint16_t>;
  // Adds an entry, or changes its next hop.
  lookup.insert(prefix, next_hop);
  // Removes an entry.
  lookup.remove(prefix);
  // Replaces all entries. Readers see either the old or the new entries.
  lookup.load(std::span<const typename Lookup::Entry>{});
  // Publishes the changes to engines that do not read host memory.
  lookup.commit();
  // Returns the next hop of exactly this prefix.
  { known.find(prefix) } -> std::same_as<std::optional<std::uint16_t>>;
  // Returns the entry of the longest prefix that covers the address.
  { known.match(address) } -> std::same_as<std::optional<typename Lookup::Entry>>;
  // Visits all entries in the order of prefixes.
  known.for_each(std::function<void(const typename Lookup::Entry&)>{});
  // Returns the number of entries.
  { known.size() } -> std::same_as<std::size_t>;
  // Returns the memory of each structure.
  { known.memory() } -> std::same_as<std::vector<StructureMemory>>;
  // Returns the table that the shader reads.
  { lookup.table() } -> std::same_as<Table&>;
};

/// Requires functions for the IP header of a packet. Each call passes the first byte of the header.
template <class Header, class Address>
concept HeaderFor = requires(const std::uint8_t* header, std::uint8_t* written, std::size_t bytes) {
  // A header has at least this many bytes.
  { Header::kBytes } -> std::convertible_to<std::size_t>;
  // The TTL or hop limit has this offset.
  { Header::kHopsLeftAt } -> std::convertible_to<std::size_t>;
  // Users know the field by this name.
  { Header::kHopsLeftName } -> std::convertible_to<std::string_view>;
  // Returns the source address.
  { Header::source(header) } -> std::same_as<Address>;
  // Returns the destination address.
  { Header::destination(header) } -> std::same_as<Address>;
  // Returns the length of the IP packet.
  { Header::packet_bytes(header) } -> std::same_as<std::size_t>;
  // Decrements a TTL or hop limit of at least 1, and updates a checksum.
  Header::decrement(written);
  // True if kLooksUpLinkLocal is true and an address of the packet is link-local.
  { Header::is_link_local(header) } -> std::same_as<bool>;
  // Returns the same hash for all packets of a flow, from the first `bytes` bytes of the packet and a seed.
  { Header::flow_hash(header, bytes, std::uint32_t{}) } -> std::same_as<std::uint32_t>;
};

/// Requires a class that extends Ipv4 or Ipv6 of include/penumbra/ip.h with all differences between the families.
template <class Family>
concept ForwardingFamily =
    std::derived_from<Family, typename Family::AddressFamily> && ForwardingOutcome<typename Family::Outcome> &&
    LookupTableFor<typename Family::LookupTable, typename Family::Prefix, typename Family::Address> &&
    HeaderFor<typename Family::Header, typename Family::Address> &&
    requires(typename Family::Prefix prefix, typename Family::Address address, const std::uint8_t* frame,
             std::size_t bytes, std::size_t lookup, const StationFilter& station, GracePeriods& grace_periods,
             const Table& table) {
      // Packets of the family have this ethertype.
      { Family::kEthertype } -> std::convertible_to<std::uint16_t>;
      // The flow hash has this seed, which differs from the seed of RSS.
      { Family::kFlowSeed } -> std::convertible_to<std::uint32_t>;
      // Returns the reason of each outcome except `forward`. The argument is true if the host has the same routes.
      { Family::reasons(true) } -> std::same_as<const std::vector<Reason>&>;
      // Checks a frame before the look-up. The first `readable` of its `bytes` bytes are at the pointer.
      { Family::inspect(frame, bytes, bytes, station) } -> std::same_as<typename Family::Outcome>;
      // A Target of kind broadcast has this outcome.
      { Family::kToBroadcast } -> std::convertible_to<typename Family::Outcome>;
      // A packet without hops left has this outcome.
      { Family::kHopsUsedUp } -> std::convertible_to<typename Family::Outcome>;
      // A packet that is longer than the egress MTU has this outcome.
      { Family::kTooLong } -> std::convertible_to<typename Family::Outcome>;
      // The look-up structures have these names. The first is the default.
      { Family::kLookups[lookup] } -> std::convertible_to<std::string_view>;
      // Creates an empty table of a structure, given its index in kLookups.
      requires std::same_as<decltype(Family::make_table(grace_periods, lookup)), typename Family::LookupTable>;
      // Creates a prefetcher for the shader's first access to the table.
      Family::ahead(table, lookup).fetch(address);
      // Converts an address to the shader's input.
      { Family::column(address) } -> std::same_as<typename Family::Column>;
      // True if link-local addresses are looked up. The key `link_local` then selects their treatment.
      { Family::kLooksUpLinkLocal } -> std::convertible_to<bool>;
      // False if inspect() decides on all packets to the prefix.
      { Family::is_looked_up(prefix) } -> std::same_as<bool>;
      // Returns the reserved addresses of a connected network.
      { Family::edges(prefix) } -> std::same_as<std::vector<typename Family::Address>>;
      // The entries of reserved addresses have this kind.
      { Family::kEdgeKind } -> std::convertible_to<FeedTarget::Kind>;
      // Users know the source of reserved addresses by this name.
      { Family::kEdgeSource } -> std::convertible_to<std::string_view>;
    };

}  // namespace penumbra::forwarding
