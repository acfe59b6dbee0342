// SPDX-License-Identifier: Apache-2.0
//
// A function that forwards packets of one address family by longest prefix. What is particular to the family it says in
// a `Family`, one of include/penumbra/ip.h's with these members besides:
//
// - Outcome: an enumeration of all that can become of a packet, its reasons by index; reasons(): these, if the host has
//   the same routes and if not; kToBroadcast: the outcome of a Target of kind broadcast; kHopsUsedUp, kTooLong: those
//   of packets that have no hop left, or are longer than the egress port's MTU
// - inspect(): judges a frame up to where its destination is looked up
// - LookupTable, ahead(), Column, column(): the table's owner, what fetches for its shader, what that reads
// - kLookups, make_table(): the structures that a look-up can have, the usual one first, and a table of one of them
// - kLooksUpLinkLocal: whether link-local addresses are looked up, so that the key `link_local` says what becomes of
// them
// - Header: where in a header things stand, what is changed in it when it is sent on, its flow's hash
// - edges(), kEdgeKind, kEdgeSource: addresses of a connected network that are no host's, and whose they are
// - is_looked_up(): whether packets to a prefix are looked up, not judged before
// - kName, kEthertype, kFlowSeed
//
// function_code.h has the definitions; a function's source instantiates them.
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
  /// Forwards between the context's ports. `lookup` is an index of Family::kLookups. Throws std::invalid_argument if
  /// their addresses clash.
  explicit ForwardingFunction(const FunctionContext& context, std::size_t lookup = 0);

  /// For changes while packets are forwarded.
  Fib<Family>& fib() { return fib_; }
  /// Fills the table: with the configuration's routes, and if it follows others, by the feed. Throws InputError. Once,
  /// before differences() and exchange().
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
  // Of commands (commands_code.h).
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
  std::vector<StationFilter> stations_;  ///< by port
  Fib<Family> fib_;
  FeedListener<Family> listener_{fib_};
  Configuration<Family> configuration_;              ///< as it was read last
  std::unique_ptr<RouteSubscription> subscription_;  ///< null: the configuration's routes are all
};

}  // namespace penumbra::forwarding
