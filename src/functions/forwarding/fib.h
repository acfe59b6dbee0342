// SPDX-License-Identifier: Apache-2.0
//
// Implements the forwarding table (FIB): routes, connected networks, addresses of ports, and neighbours. The shader
// looks up a table of the family, whose 16-bit next hops are sets of NextHops.
//
// For each prefix the first entry of this list is active:
//
// 1. an address of a port (local)
// 2. an edge of a connected network: IPv4's broadcast and network address, IPv6's anycast address of routers
// 3. a connected network
// 4. the route of the lowest metric
// 5. an adjacency
//
// An adjacency is the host prefix of a neighbour. An adjacency exists if the table without adjacencies sends the
// neighbour's address to a link without gateway. The next hop of an adjacency is that link with the neighbour as
// gateway. A host route without gateway leads to its own address in the same way, even if no neighbour is known.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/next_hops.h"
#include "functions/forwarding/structure_memory.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/table.h"

namespace penumbra::forwarding {

/// Control threads may call all functions; a mutex serializes the calls. Workers read through table() and next_hops()
/// at the same time and see either the old or the new state of each change.
///
/// A call that throws has changed nothing: std::length_error at a limit (the table's, NextHops'), std::invalid_argument
/// for invalid arguments. Engines on host memory see a change immediately. After a batch of changes, commit() updates
/// the other engines and allows memory to be reused.
template <class Family>
class Fib {
 public:
  using Address = typename Family::Address;
  using Prefix = typename Family::Prefix;
  using LookupTable = typename Family::LookupTable;
  using Hop = HopOf<Family>;
  using Target = TargetOf<Family>;
  using NextHop = control::NextHopOf<typename Family::AddressFamily>;
  using RouteTarget = control::RouteTargetOf<typename Family::AddressFamily>;
  using RouteList = control::RouteListOf<typename Family::AddressFamily>;
  using Neighbour = control::NeighbourOf<typename Family::AddressFamily>;
  using SetId = forwarding::SetId;

  /// Adds the ports' connected networks and addresses. `grace_periods` must outlive this object. `lookup` is an index
  /// of Family::kLookups. Throws std::invalid_argument if two ports have the same address or network.
  Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods, std::size_t lookup = 0);

  /// Updates the ports' MAC addresses, MTUs and addresses, and adds new ports. No worker may read during the call.
  /// Throws std::invalid_argument, with nothing changed, if two ports have the same address or network.
  void set_ports(std::span<const PortInfo> ports);

  /// Adds a route. Throws std::invalid_argument if a route of this prefix and metric exists.
  void add_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target);
  /// Adds a route, or changes the target of an existing route.
  void replace_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target);
  /// Adds or changes a route. The target may be of a kind that only the host's tables have: an address, a broadcast, a
  /// next hop that only the host reaches.
  void replace_route(Prefix prefix, std::uint32_t metric, const Target& target);
  /// Returns false if there was no such route.
  bool remove_route(Prefix prefix, std::uint32_t metric);
  /// Replaces all routes in one step. Connected networks, addresses and neighbours stay. Needs no commit().
  void load(const RouteList& list);
  /// Adds a neighbour, or changes its MAC address.
  void set_neighbour(const Neighbour& neighbour);
  void set_neighbour(std::uint16_t port, Address address, MacAddress mac);
  /// Returns false if there was no such neighbour.
  bool remove_neighbour(Address address, const std::string& port);
  bool remove_neighbour(std::uint16_t port, Address address);
  void commit();

  struct Answer {
    Prefix prefix;
    std::string
        target;  ///< as control::to_string() writes it, or "local dev PORT", "broadcast dev PORT"; PORT may be "host"
  };
  /// Returns the longest prefix that covers the address, with its target.
  std::optional<Answer> lookup(Address address) const;
  /// Returns the target of a shader's result: Answer::target, or "unreachable" for LookupTable::kNoRoute.
  std::string describe(std::uint16_t next_hop) const;

  /// Represents an entry of the table for a prefix.
  struct Row {
    Prefix prefix;
    std::string_view type;                ///< unicast, local, broadcast, blackhole, unreachable
    std::vector<NextHop> next_hops;       ///< empty for blackhole and unreachable
    std::optional<std::uint32_t> metric;  ///< set for routes only
    std::string_view source;              ///< route, connected, local, broadcast, anycast, neighbour
    SetId set = 0;
    bool active = false;  ///< true if the entry decides for its prefix
  };
  /// Returns all entries of exactly this prefix.
  std::vector<Row> rows(Prefix prefix) const;
  /// Returns entries in the order of prefixes, and stops after about `most` entries.
  std::vector<Row> rows(std::size_t most) const;
  /// Returns the known neighbours, sorted by address.
  std::vector<Neighbour> neighbours() const;

  std::size_t prefixes() const;  ///< number of different prefixes in the table
  std::size_t next_hop_sets() const;
  std::vector<StructureMemory> memory() const;  ///< memory of each look-up structure
  Table& table() { return table_.table(); }
  const std::string& shader() const { return shader_; }  ///< name of the shader of table()
  const NextHopView<Family>& next_hops() const { return next_hops_.view(); }

 private:
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
  struct Content;  ///< a complete new table for load()

  /// Represents the target of a prefix that belongs to a port.
  struct Direct {
    Target::Kind kind;
    std::uint16_t port;
    std::string_view source;
    bool operator==(const Direct&) const = default;
  };
  static std::map<Prefix, Direct> direct_prefixes(std::span<const PortInfo> ports);
  void set_interface(Prefix prefix, const std::optional<Direct>& direct);
  std::uint16_t port_index(const std::string& name) const;
  Target convert(const RouteTarget& target) const;
  void check(const Target& target) const;
  static bool needs_address(const Target& target);
  static Target for_address(Target target, Address address);
  SetId acquire(const Target& target);
  void make_room();

  Routes routes_of(Prefix prefix) const;
  std::optional<SetId> winner(Prefix prefix, const Routes& routes) const;
  void change_routes(Prefix prefix, Routes routes);
  void set_route(Prefix prefix, std::uint32_t metric, Target target, bool may_exist);
  std::vector<AdjacencyChange> plan_adjacencies(Prefix prefix, std::optional<SetId> after);
  std::pair<int, std::optional<SetId>> cover_of(Address address, int longest) const;
  std::optional<Target> adjacency_target(Address address, const Adjacency& adjacency, SetId cover) const;
  std::optional<SetId> acquire_adjacency(Address address, const Adjacency& adjacency, std::optional<SetId> cover);
  std::optional<Step> adjacency_step(const AdjacencyChange& change) const;
  void take(std::span<const Step> steps);
  void enter(Prefix prefix, std::optional<SetId> set);
  void settle(const AdjacencyChange& change);
  void forget_port(typename Adjacencies::iterator at, std::uint16_t port);
  bool table_remembers(Prefix prefix, std::uint32_t metric, std::uint32_t usual_metric) const;
  void remember(Prefix prefix, Routes routes);

  void fill(Content& content, const RouteList& list, std::span<const SetId> sets);
  void cover_adjacencies(Content& content);

  std::string port_name(std::uint16_t port) const;
  std::vector<NextHop> next_hops(const Target& target) const;
  std::string text(const Target& target) const;
  void append_rows(Prefix prefix, std::optional<SetId> active, std::vector<Row>& rows) const;
  void commit_locked();

  mutable std::mutex mutex_;
  std::vector<PortInfo> ports_;
  std::unordered_map<std::string, std::uint16_t> port_indices_;
  LookupTable table_;
  std::string shader_{table_.table().name()};
  NextHops<Family> next_hops_;
  std::map<Prefix, Interface> interfaces_;
  RoutesByPrefix
      routes_;  ///< only prefixes whose routes the look-up table cannot store completely: see table_remembers()
  std::uint32_t usual_metric_ = 0;
  Adjacencies adjacencies_;
};

}  // namespace penumbra::forwarding
