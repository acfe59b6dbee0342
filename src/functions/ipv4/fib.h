// SPDX-License-Identifier: Apache-2.0
//
// The IPv4 forwarding table with everything that decides a packet's way: routes, the ports' own networks and addresses,
// and neighbours. What the shader looks up is a Dir24_8 whose 16-bit next hops are sets of NextHops.
//
// For one prefix counts, in this order: an address of a port (local), the broadcast or network address of a connected
// network, a connected network, the route of the lowest metric, an adjacency. An adjacency is the /32 of a neighbour
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
#include "functions/ipv4/next_hops.h"
#include "penumbra/function.h"
#include "penumbra/ip.h"
#include "penumbra/table.h"
#include "shaders/dir24_8/dir24_8.h"

namespace penumbra::ipv4 {

/// Calls from any control thread; they exclude each other. Workers read through table() and next_hops() meanwhile and
/// see of each change the old state or the new. A call that throws has changed nothing. Changes work at once for
/// engines on host memory; commit() after a batch of them brings the others up to date and lets memory be reused.
/// Errors: std::length_error at a limit (Dir24_8's, NextHops'), std::invalid_argument for what makes no sense.
class Ipv4Fib {
 public:
  using SetId = NextHops::SetId;

  /// Takes over the ports' connected networks and addresses. `grace_periods` outlives it. Throws std::invalid_argument
  /// if two ports have the same address or network.
  Ipv4Fib(std::span<const PortInfo> ports, GracePeriods& grace_periods);

  /// The ports' final MAC addresses and MTUs. Before there are readers.
  void set_ports(std::span<const PortInfo> ports);

  /// An error if there is a route of this prefix and metric.
  void add_route(Ipv4Prefix prefix, std::uint32_t metric, const control::RouteTarget& target);
  /// Adds it, or changes where it leads.
  void replace_route(Ipv4Prefix prefix, std::uint32_t metric, const control::RouteTarget& target);
  /// The same, also for what only the host's tables have: addresses, broadcasts, ways that only the host knows.
  void replace_route(Ipv4Prefix prefix, std::uint32_t metric, const Target& target);
  /// Returns whether there was such a route.
  bool remove_route(Ipv4Prefix prefix, std::uint32_t metric);
  /// Replaces all routes at once; connected networks, addresses and neighbours stay. Needs no commit().
  void load(const control::RouteList& list);
  /// Adds a neighbour, or changes its MAC address.
  void set_neighbour(const control::Neighbour& neighbour);
  void set_neighbour(std::uint16_t port, Ipv4Address address, MacAddress mac);
  /// Returns whether there was such a neighbour.
  bool remove_neighbour(Ipv4Address address, const std::string& port);
  bool remove_neighbour(std::uint16_t port, Ipv4Address address);
  void commit();

  struct Answer {
    Ipv4Prefix prefix;
    std::string target;  ///< as control::to_string() has it, or "local dev PORT", "broadcast dev PORT"; the port may
                         ///< be the host: "dev host"
  };
  /// The longest prefix that covers the address, and where it leads.
  std::optional<Answer> lookup(Ipv4Address address) const;
  /// What the shader's answer means: Answer::target, or "unreachable" for Dir24_8::kNoRoute.
  std::string describe(std::uint16_t next_hop) const;

  /// One thing that the table knows of a prefix.
  struct Row {
    Ipv4Prefix prefix;
    std::string_view type;                    ///< unicast, local, broadcast, blackhole, unreachable
    std::vector<control::NextHop> next_hops;  ///< none of the last two
    std::optional<std::uint32_t> metric;      ///< of routes
    std::string_view source;                  ///< route, connected, local, broadcast, neighbour
    SetId set = 0;
    bool active = false;  ///< it is what counts for its prefix
  };
  /// Everything on exactly this prefix.
  std::vector<Row> rows(Ipv4Prefix prefix) const;
  /// By prefix, until about `most` are found.
  std::vector<Row> rows(std::size_t most) const;
  /// The known neighbours, by address.
  std::vector<control::Neighbour> neighbours() const;

  std::size_t prefixes() const;  ///< different ones in the table
  std::size_t next_hop_sets() const;
  Table& table() { return table_.table(); }
  const NextHopView& next_hops() const { return next_hops_.view(); }

 private:
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
    int cover = -1;            ///< length of the longest prefix up to /31 that covers it; -1: none
    std::optional<SetId> set;  ///< where the /32 leads if there is to be one; holds a reference
  };
  using Adjacencies = std::map<Ipv4Address, Adjacency>;
  struct AdjacencyChange {
    Adjacencies::iterator at;
    int cover;
    std::optional<SetId> set;
  };
  /// An entry of the look-up table before and after.
  struct Step {
    Ipv4Prefix prefix;
    std::optional<SetId> before, after;
  };
  struct PrefixHash {
    std::size_t operator()(Ipv4Prefix prefix) const {
      return (std::uint64_t{prefix.address.value} << 6 | prefix.length) * 0x9E3779B97F4A7C15U >> 16;
    }
  };
  using RoutesByPrefix = std::unordered_map<Ipv4Prefix, Routes, PrefixHash>;
  struct Content;  ///< a whole new table (fib_load.cc)

  void add_interfaces();
  void add_interface(Ipv4Prefix prefix, Target::Kind kind, std::uint16_t port, std::string_view source);
  std::uint16_t port_index(const std::string& name) const;
  Target convert(const control::RouteTarget& target) const;
  void check(const Target& target) const;
  static bool needs_address(const Target& target);
  static Target for_address(Target target, Ipv4Address address);
  SetId acquire(const Target& target);
  void make_room();

  Routes routes_of(Ipv4Prefix prefix) const;
  std::optional<SetId> winner(Ipv4Prefix prefix, const Routes& routes) const;
  void change_routes(Ipv4Prefix prefix, Routes routes);
  void set_route(Ipv4Prefix prefix, std::uint32_t metric, Target target, bool may_exist);
  std::vector<AdjacencyChange> plan_adjacencies(Ipv4Prefix prefix, std::optional<SetId> after);
  std::pair<int, std::optional<SetId>> cover_of(Ipv4Address address, int longest) const;
  std::optional<Target> adjacency_target(Ipv4Address address, const Adjacency& adjacency, SetId cover) const;
  std::optional<SetId> acquire_adjacency(Ipv4Address address, const Adjacency& adjacency, std::optional<SetId> cover);
  std::optional<Step> adjacency_step(const AdjacencyChange& change) const;
  void take(std::span<const Step> steps);
  void enter(Ipv4Prefix prefix, std::optional<SetId> set);
  void settle(const AdjacencyChange& change);
  void forget_port(Adjacencies::iterator at, std::uint16_t port);
  bool table_remembers(Ipv4Prefix prefix, std::uint32_t metric, std::uint32_t usual_metric) const;
  void remember(Ipv4Prefix prefix, Routes routes);

  void fill(Content& content, const control::RouteList& list, std::span<const SetId> sets);
  void cover_adjacencies(Content& content);

  std::string port_name(std::uint16_t port) const;
  std::vector<control::NextHop> next_hops(const Target& target) const;
  std::string text(const Target& target) const;
  void append_rows(Ipv4Prefix prefix, std::optional<SetId> active, std::vector<Row>& rows) const;
  void commit_locked();

  mutable std::mutex mutex_;
  std::vector<PortInfo> ports_;
  std::unordered_map<std::string, std::uint16_t> port_indices_;
  Dir24_8 table_;
  NextHops next_hops_;
  std::map<Ipv4Prefix, Interface> interfaces_;
  RoutesByPrefix routes_;  ///< of prefixes of which the look-up table alone does not say all: see table_remembers()
  std::uint32_t usual_metric_ = 0;
  Adjacencies adjacencies_;
};

}  // namespace penumbra::ipv4
