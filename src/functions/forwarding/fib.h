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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/routes.h"
#include "functions/forwarding/family.h"
#include "functions/forwarding/fib_state.h"
#include "functions/forwarding/next_hops.h"
#include "functions/forwarding/port_names.h"
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
template <ForwardingFamily Family>
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
  /// Returns the index of the port that has this name, or had it last. Throws std::invalid_argument if none ever had.
  std::uint16_t last_index_of(const std::string& port) const { return names_.last_index_of(port); }
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
  Table& table() { return state_.table.table(); }
  const std::string& shader() const { return shader_; }  ///< name of the shader of table()
  const NextHopView<Family>& next_hops() const { return state_.next_hops.view(); }

 private:
  using State = FibState<Family>;
  using Route = typename State::Route;
  using Routes = typename State::Routes;
  using Adjacency = typename State::Adjacency;
  using Adjacencies = typename State::Adjacencies;
  using AdjacencyChange = typename State::AdjacencyChange;
  static constexpr std::uint8_t kHost = State::kHost;

  /// Represents the target of a prefix that belongs to a port.
  struct Direct {
    Target::Kind kind;
    std::uint16_t port;
    std::string_view source;
    bool operator==(const Direct&) const = default;
  };
  static std::map<Prefix, Direct> direct_prefixes(std::span<const PortInfo> ports);
  void set_interface(Prefix prefix, const std::optional<Direct>& direct);
  void set_route(Prefix prefix, std::uint32_t metric, Target target, bool may_exist);
  void forget_port(typename Adjacencies::iterator at, std::uint16_t port);
  void append_rows(Prefix prefix, std::optional<SetId> active, std::vector<Row>& rows) const;

  mutable std::mutex mutex_;
  PortNames<Family> names_;
  State state_;
  std::string shader_{state_.table.table().name()};
};

}  // namespace penumbra::forwarding
