// SPDX-License-Identifier: Apache-2.0
//
// Forwards packets of one address family by longest prefix match. The template parameter `Family` describes the address
// family. `Family` extends a class of include/penumbra/ip.h with these members:
//
// - Outcome: an enumeration of all results for a packet, in the order of its reasons
// - reasons(): the reasons, for a host with the same routes or for any other host
// - kToBroadcast: the outcome for a Target of kind broadcast
// - kHopsUsedUp, kTooLong: the outcomes for packets without hops left and for packets longer than the egress MTU
// - inspect(): checks a frame before its destination is looked up
// - LookupTable, ahead(), Column, column(): the owner of the table, the prefetcher for its shader, the shader's input
// - kLookups, make_table(): the names of the look-up structures, the default first, and a factory for their tables
// - kLooksUpLinkLocal: true if link-local addresses are looked up, so that the key `link_local` selects their treatment
// - Header: the positions of header fields, the changes for forwarding, the flow hash
// - edges(), kEdgeKind, kEdgeSource: reserved addresses of a connected network, with the kind and source of their
//   entries
// - is_looked_up(): false if packets to a prefix are decided before the look-up
// - kName, kEthertype, kFlowSeed
//
// The source file of a function instantiates the templates.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/forwarding/configuration.h"
#include "functions/forwarding/ethernet.h"
#include "functions/forwarding/feed_listener.h"
#include "functions/forwarding/fib.h"
#include "functions/forwarding/own_routes.h"
#include "penumbra/function.h"

namespace penumbra::forwarding {

template <class Family>
class ForwardingFunction final : public Function {
 public:
  /// Forwards between the ports of the context. `lookup` is an index of Family::kLookups. Throws std::invalid_argument
  /// if addresses of the ports conflict.
  explicit ForwardingFunction(const FunctionContext& context, std::size_t lookup = 0);

  /// Returns the table, which may change while packets are forwarded.
  Fib<Family>& fib() { return fib_; }
  /// Fills the table with the configuration's routes. If the configuration follows route sources, the feed fills the
  /// table too. Throws InputError. Must be called once, before differences() and exchange().
  void configure(const ConfigNode& config, const FunctionContext& context);

  const std::vector<Reason>& reasons() const override { return *reasons_; }
  std::vector<std::string> warnings() const override { return warnings_; }
  std::string shader() const override { return fib_.shader(); }
  Table* table() override { return &fib_.table(); }
  void bind(std::span<const PortInfo> ports) override;
  void pre_shade(Chunk& chunk) noexcept override;
  void post_shade(Chunk& chunk) noexcept override;
  std::vector<std::string> differences(const Function& next, const ConfigNode& config) const override;
  void exchange(Function& next) override;
  std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                  const CommandEntries& entries) override;
  std::vector<ConfigTable> tables() const override;
  void tables_are_saved() override;
  std::string trace(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const override;
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const override;

 private:
  using Outcome = typename Family::Outcome;
  using Prefix = typename Family::Prefix;
  using Address = typename Family::Address;
  using Routes = RouteChanges<Family>;
  using OwnRoute = control::RouteOf<typename Family::AddressFamily>;
  using Removal = control::RouteRemovalOf<typename Family::AddressFamily>;
  using NeighbourChanges = std::vector<NeighbourChange<Family>>;
  using Neighbours = std::span<const control::NeighbourOf<typename Family::AddressFamily>>;

  bool is_for_another(Outcome outcome, const std::uint8_t* frame) const;
  void forget_neighbours(Neighbours known, Neighbours kept);
  // The commands use these functions.
  Routes added_routes(const CommandEntries& entries, bool may_exist) const;
  Routes removed_routes(const CommandEntries& entries) const;
  const OwnRoute& find_removed(const Removal& removal, std::span<const OwnRoute> routes,
                               const CommandEntries& entries) const;
  std::string missing_route_hint(Prefix prefix) const;
  void change_routes(const Routes& changes);
  void change_fib(const Routes& changes);
  NeighbourChanges added_neighbours(const CommandEntries& entries, bool may_exist) const;
  NeighbourChanges removed_neighbours(const CommandEntries& entries) const;
  void change_neighbours(const NeighbourChanges& changes);
  void note_unsaved(const Routes& changes);
  std::vector<std::string> unsaved_routes(std::size_t most) const;
  std::vector<std::string> unsaved_neighbours(std::size_t most) const;

  std::vector<Ipv6Prefix> shown_beside() const;
  nlohmann::ordered_json show_routes(std::span<const std::string> arguments) const;
  nlohmann::ordered_json show_memory() const;
  nlohmann::ordered_json show_neighbours() const;
  nlohmann::ordered_json show_sources() const;

  std::size_t lookup_;
  std::atomic<bool> drops_link_local_{Family::kLooksUpLinkLocal};
  const std::vector<Reason>* reasons_ = &Family::reasons(false);
  std::vector<std::string> warnings_;
  std::vector<PortInfo> ports_;
  std::vector<StationFilter> stations_;  ///< by port index
  Fib<Family> fib_;
  FeedListener<Family> listener_{fib_};
  Configuration<Family> configuration_;              ///< as last read
  std::unique_ptr<RouteSubscription> subscription_;  ///< null if only the configuration's routes are used
};

}  // namespace penumbra::forwarding
