// SPDX-License-Identifier: Apache-2.0
//
// A forwarding table with everything that decides a packet's way: routes, the ports' own networks and addresses, and
// neighbours. What the shader looks up is a table of the family's whose 16-bit next hops are sets of NextHops.
//
// For one prefix counts, in this order: an address of a port (local), an edge of a connected network (IPv4's broadcast
// and network address, IPv6's anycast address of routers), a connected network, the route of the lowest metric, an
// adjacency. An adjacency is the host prefix of a neighbour
// to which the table without adjacencies leads by a link without gateway: that link with the neighbour as gateway. (A
// host route without gateway leads to its own address in the same way, known neighbour or not.)
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

/// Calls from any control thread; they exclude each other. Workers read through table() and next_hops() meanwhile and
/// see of each change the old state or the new. A call that throws has changed nothing. Changes work at once for
/// engines on host memory; commit() after a batch of them brings the others up to date and lets memory be reused.
/// Errors: std::length_error at a limit (the table's, NextHops'), std::invalid_argument for what makes no sense.
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

  /// Takes over the ports' connected networks and addresses. `grace_periods` outlives it; `lookup` is an index of
  /// Family::kLookups. Throws std::invalid_argument if two ports have the same address or network.
  Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods, std::size_t lookup = 0);

  /// The ports' MAC addresses, MTUs and addresses; there may be more ports than before. While nobody reads. Throws
  /// std::invalid_argument, with nothing changed, if two ports have the same address or network.
  void set_ports(std::span<const PortInfo> ports);

  /// An error if there is a route of this prefix and metric.
  void add_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target);
  /// Adds it, or changes where it leads.
  void replace_route(Prefix prefix, std::uint32_t metric, const RouteTarget& target);
  /// The same, also for what only the host's tables have: addresses, broadcasts, ways that only the host knows.
  void replace_route(Prefix prefix, std::uint32_t metric, const Target& target);
  /// Returns whether there was such a route.
  bool remove_route(Prefix prefix, std::uint32_t metric);
  /// Replaces all routes at once; connected networks, addresses and neighbours stay. Needs no commit().
  void load(const RouteList& list);
  /// Adds a neighbour, or changes its MAC address.
  void set_neighbour(const Neighbour& neighbour);
  void set_neighbour(std::uint16_t port, Address address, MacAddress mac);
  /// Returns whether there was such a neighbour.
  bool remove_neighbour(Address address, const std::string& port);
  bool remove_neighbour(std::uint16_t port, Address address);
  void commit();

  struct Answer {
    Prefix prefix;
    std::string target;  ///< as control::to_string() has it, or "local dev PORT", "broadcast dev PORT"; the port may
                         ///< be the host: "dev host"
  };
  /// The longest prefix that covers the address, and where it leads.
  std::optional<Answer> lookup(Address address) const;
  /// What the shader's answer means: Answer::target, or "unreachable" for LookupTable::kNoRoute.
  std::string describe(std::uint16_t next_hop) const;

  /// One thing that the table knows of a prefix.
  struct Row {
    Prefix prefix;
    std::string_view type;                ///< unicast, local, broadcast, blackhole, unreachable
    std::vector<NextHop> next_hops;       ///< none of the last two
    std::optional<std::uint32_t> metric;  ///< of routes
    std::string_view source;              ///< route, connected, local, broadcast, anycast, neighbour
    SetId set = 0;
    bool active = false;  ///< it is what counts for its prefix
  };
  /// Everything on exactly this prefix.
  std::vector<Row> rows(Prefix prefix) const;
  /// By prefix, until about `most` are found.
  std::vector<Row> rows(std::size_t most) const;
  /// The known neighbours, by address.
  std::vector<Neighbour> neighbours() const;

  std::size_t prefixes() const;  ///< different ones in the table
  std::size_t next_hop_sets() const;
  std::vector<StructureMemory> memory() const;  ///< of each look-up structure that is kept
  Table& table() { return table_.table(); }
  const std::string& shader() const { return shader_; }  ///< the name of table()'s shader
  const NextHopView<Family>& next_hops() const { return next_hops_.view(); }

 private:
  static constexpr std::uint8_t kHost = Family::kBits;  ///< length of a host prefix

  struct Route {
    std::uint32_t metric;
    SetId set;
  };
  using Routes = std::vector<Route>;  ///< of one prefix, by metric; each holds a reference to its set

  struct Interface {
    SetId set;
    std::string_view source;
  };
  /// What is known of an address that some port has a neighbour at.
  struct Adjacency {
    std::set<std::uint16_t> ports;
    int cover = -1;            ///< length of the longest prefix but its own that covers it; -1: none
    std::optional<SetId> set;  ///< where its prefix leads if there is to be one; holds a reference
  };
  using Adjacencies = std::map<Address, Adjacency>;
  struct AdjacencyChange {
    typename Adjacencies::iterator at;
    int cover;
    std::optional<SetId> set;
  };
  /// An entry of the look-up table before and after.
  struct Step {
    Prefix prefix;
    std::optional<SetId> before, after;
  };
  struct PrefixHash {
    std::size_t operator()(Prefix prefix) const { return hash(prefix); }
  };
  using RoutesByPrefix = std::unordered_map<Prefix, Routes, PrefixHash>;
  struct Content;  ///< a whole new table (fib_load_code.h)

  /// What a prefix of a port leads to.
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
  RoutesByPrefix routes_;  ///< of prefixes of which the look-up table alone does not say all: see table_remembers()
  std::uint32_t usual_metric_ = 0;
  Adjacencies adjacencies_;
};

}  // namespace penumbra::forwarding
