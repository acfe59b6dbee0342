// SPDX-License-Identifier: Apache-2.0
//
// Keeps the tables of a Fib consistent: the look-up table, the next hops, the routes and the adjacencies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/next_hops.h"
#include "functions/forwarding/port_names.h"
#include "penumbra/function.h"
#include "penumbra/table.h"

namespace penumbra::forwarding {

/// Holds everything that a Fib protects with its lock. Only a thread with the lock may use this struct. A call that
/// throws has changed nothing.
template <ForwardingFamily Family>
struct FibState {
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;
  using LookupTable = typename Family::LookupTable;
  using Hop = HopOf<Family>;
  using Target = TargetOf<Family>;
  static constexpr std::uint8_t kHost = Family::kBits;  ///< length of a host prefix, bits

  struct Route {
    std::uint32_t metric;
    SetId set;
  };
  using Routes = std::vector<Route>;  ///< routes of one prefix, sorted by metric; each holds a reference to its set

  struct Interface {
    SetId set;
    std::string_view source;
  };
  /// Holds the state of an address at which some port has a neighbour.
  struct Adjacency {
    std::set<std::uint16_t> ports;
    int cover = -1;  ///< length of the longest prefix, except its own, that covers the address; -1 if there is none
    std::optional<SetId> set;  ///< set of the adjacency, if there is one; holds a reference
  };
  using Adjacencies = std::map<Address, Adjacency>;
  struct AdjacencyChange {
    typename Adjacencies::iterator at;
    int cover;
    std::optional<SetId> set;
  };
  /// Holds an entry of the look-up table before and after a change.
  struct Step {
    Prefix prefix;
    std::optional<SetId> before, after;
  };
  struct PrefixHash {
    std::size_t operator()(Prefix prefix) const { return hash(prefix); }
  };
  using RoutesByPrefix = std::unordered_map<Prefix, Routes, PrefixHash>;

  FibState(std::span<const PortInfo> ports, GracePeriods& grace_periods, std::size_t lookup)
      : table(Family::make_table(grace_periods, lookup)), next_hops(grace_periods, ports) {}

  /// Returns the set of a target with one more reference, after make_room().
  SetId acquire(const Target& target);
  /// Waits for a grace period if there is no room, so that memory that is about to become free causes no error.
  void make_room();
  void commit();

  Routes routes_of(Prefix prefix) const;
  /// Sets the routes of the prefix. The caller releases the sets of former routes.
  void change_routes(Prefix prefix, Routes changed);
  /// True if the look-up table alone stores the prefix's only route, given the route's metric. The table alone stores
  /// nearly all of a million routes, which then need no further memory.
  bool table_remembers(Prefix prefix, std::uint32_t metric, std::uint32_t metric_of_table) const;
  /// Stores the routes of a prefix for routes_of(). The look-up table must already have its new state.
  void remember(Prefix prefix, Routes known);

  /// Returns the length and the set of the longest prefix of at most `longest` bits that covers the address. The length
  /// is -1 if there is no such prefix.
  std::pair<int, std::optional<SetId>> cover_of(Address address, int longest) const;
  /// Returns the set of the adjacency below `cover`, with one more reference. Returns std::nullopt if there is none.
  std::optional<SetId> acquire_adjacency(Address address, const Adjacency& adjacency, std::optional<SetId> cover);
  /// Applies the change to the look-up table. If this throws, `change.set` is released.
  void apply_adjacency(const AdjacencyChange& change);
  /// Records the change after the look-up table has applied it.
  void settle(const AdjacencyChange& change);

  LookupTable table;
  NextHops<Family> next_hops;
  std::map<Prefix, Interface> interfaces;
  RoutesByPrefix
      routes;  ///< only prefixes whose routes the look-up table cannot store completely: see table_remembers()
  std::uint32_t usual_metric = 0;
  Adjacencies adjacencies;

 private:
  std::optional<SetId> winner(Prefix prefix, const Routes& candidates) const;
  std::vector<AdjacencyChange> plan_adjacencies(Prefix prefix, std::optional<SetId> after);
  std::optional<Target> adjacency_target(Address address, const Adjacency& adjacency, SetId cover) const;
  std::optional<Step> adjacency_step(const AdjacencyChange& change) const;
  void take(std::span<const Step> steps);
  void enter(Prefix prefix, std::optional<SetId> set);
};

/// True if a hop has no gateway. In a host route, for_address() then gives the hop one.
template <ForwardingFamily Family>
bool needs_address(const TargetOf<Family>& target);

/// Returns the target for packets to this address only. Hops without gateway get the address as gateway.
template <ForwardingFamily Family>
TargetOf<Family> for_address(TargetOf<Family> target, typename Family::Address address);

/// Implements Fib::load().
template <ForwardingFamily Family>
void load_routes(FibState<Family>& state, const PortNames<Family>& names,
                 const control::RouteListOf<typename Family::AddressFamily>& list);

}  // namespace penumbra::forwarding
