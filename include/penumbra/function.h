// SPDX-License-Identifier: Apache-2.0
//
// The seam that a network function fills: what stands before and after its shader, its reasons, its table, its
// configuration and what it shows. A function is a folder under src/functions that registers one FunctionInfo.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "penumbra/chunk.h"
#include "penumbra/command.h"
#include "penumbra/config_node.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"
#include "penumbra/table.h"

namespace penumbra {

/// Why a packet is dropped or punted: a counter of its own.
struct Reason {
  std::string name;  ///< lower case with underscores; unique within its function
  Verdict::Kind kind = Verdict::Kind::drop;
  std::string help;  ///< one line for `show drops`
};

/// An address of the router on a port, with the prefix of the network it is in.
template <class Family>
struct InterfaceAddressOf {
  typename Family::Address address;
  typename Family::Prefix network;
};
using InterfaceAddress = InterfaceAddressOf<Ipv4>;

/// A number of a function's own for whoever watches the router (Prometheus): `penumbra_NAME{stage="STAGE",LABELS}`, or
/// `penumbra_NAME_total` if it is a counter, which only grows.
struct FunctionMetric {
  enum class Kind : std::uint8_t { counter, gauge };
  std::string name;  ///< lower case with underscores, the function's first: "flows_opened"
  std::string help;  ///< one line, the same for all of the name
  Kind kind = Kind::counter;
  std::uint64_t value = 0;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<std::pair<std::string, std::string>> labels = {};
};

/// What functions may know of a port.
struct PortInfo {
  std::string name;
  std::uint16_t index = 0;
  MacAddress mac;            ///< 0 until the port is open, unless the configuration gives it
  std::uint16_t mtu = 1500;  ///< of the IP packet, bytes
  bool promiscuous = true;   ///< takes frames to any unicast MAC address
  bool removed = false;      ///< the port is gone, its index stays: it has no name and no addresses; send nothing there
  std::vector<InterfaceAddress> addresses;
  std::vector<InterfaceAddressOf<Ipv6>> ipv6_addresses;

  template <class Family>
  const std::vector<InterfaceAddressOf<Family>>& addresses_of() const {
    if constexpr (std::is_same_v<Family, Ipv4>) {
      return addresses;
    } else {
      return ipv6_addresses;
    }
  }
};

/// What a function is given at set-up.
struct FunctionContext {
  std::span<const PortInfo> ports;  ///< index = position
  GracePeriods& grace_periods;      ///< for the tables that workers read; outlives the function
  RouteFeed* feed = nullptr;        ///< who knows the host's routes; outlives the function; null: nobody
  /// What functions behind this one in the pipeline take (FunctionInfo::ethertypes): not this function's to drop or
  /// punt, unless it takes it too.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::span<const std::uint16_t> later_ethertypes = {};
};

/// A network function. Set-up and show on the control thread; pre_shade and post_shade on any worker at any time, so
/// they change nothing of the function's but what is made for it, and of a chunk that is a dry run not even that.
class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;

  /// Its reasons, in the order of the indices given to drop() and punt().
  virtual const std::vector<Reason>& reasons() const = 0;
  /// The name of its shader, and the table that the shader reads. A function without a shader gives "" and null.
  virtual std::string shader() const = 0;
  virtual Table* table() = 0;

  /// Returns warnings about the configuration, a line each, with the place. Called once, after create().
  virtual std::vector<std::string> warnings() const { return {}; }

  /// The ports are open: MAC addresses and MTUs are final. Called once, before any packet.
  virtual void bind(std::span<const PortInfo> ports) = 0;

  /// A worker begins: on its thread, before its first packet, while other workers may be at theirs. Touches memory that
  /// the worker will write, so that no packet waits for the kernel to give it pages.
  virtual void prepare(std::uint16_t /*worker*/) noexcept {}

  /// Ports have changed: they were added (behind the others), removed, or have other MAC addresses, MTUs or addresses.
  /// Called between packets: none is in flight, and nothing else of this function is called meanwhile but by threads of
  /// its own and its listeners. It returns soon, as the workers wait. Where bind() may not be called again or does not
  /// take over all of that, a function overrides this. Throws std::invalid_argument, with nothing changed, for ports
  /// that it cannot have.
  virtual void rebind(std::span<const PortInfo> ports) { bind(ports); }

  /// A port's link went down (a cable was pulled, say), while packets go through: what is behind it may be elsewhere
  /// when it comes again. Noticed within a tenth of a second, and not at all if it lasts less. On the control thread;
  /// returns soon.
  virtual void link_down(std::uint16_t /*port*/) {}

  /// Judges each packet that is still undecided, and for those that need the shader fills a batch: its columns from
  /// chunk.columns, items, packet_of_item. The runtime sets shader and table and skips the shader if there are no
  /// items.
  virtual void pre_shade(Chunk& chunk) noexcept = 0;
  /// Turns the batch's outputs into verdicts and rewrites the packets.
  virtual void post_shade(Chunk& chunk) noexcept = 0;

  /// What would change if this took over the configuration of `next`, a line each. create() has made that from
  /// `config`, of the same kind as this and with the same ports. Throws InputError at what only a restart can change.
  virtual std::vector<std::string> differences(const Function& next, const ConfigNode& config) const = 0;
  /// Takes over the configuration of `next` while packets go through this (through `next` none do), and gives it its
  /// own in return, so that doing it again undoes it. Called after differences() has told some. If it throws, nothing
  /// has changed.
  virtual void exchange(Function& next) = 0;

  /// Checks all entries of a command (FunctionInfo::commands) against the tables in force, and returns the change that
  /// they ask for. The change is valid until the tables change otherwise, and must not outlive the function. Throws
  /// InputError with the place of an entry that is wrong, std::invalid_argument if the command makes no sense here.
  virtual std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                          const CommandEntries& entries);
  /// The tables that commands change, for `penumbra show config`, `save` and `plan`. Control thread.
  virtual std::vector<ConfigTable> tables() const { return {}; }
  /// The tables are as the configuration has them now: nothing is unsaved.
  virtual void tables_are_saved() {}

  /// One line on what the function saw in a packet and did with it, for `trace`. Called after post_shade.
  virtual std::string trace(const Chunk& chunk, std::uint16_t packet) const = 0;
  /// For `explain`: which entries of the function's tables decided on a packet, as an object of names and values
  /// ("entry", "route", "neighbour"); empty if none did. Called after post_shade of a dry run on a control thread,
  /// which holds nothing of a table, so that this may lock. The tables may have changed since.
  virtual nlohmann::ordered_json explain(const Chunk& chunk, std::uint16_t packet) const;
  /// What `show TOPIC ARGUMENTS...` prints: an object, or an array of them (a table; an object in one is a group of
  /// columns). Topics are those of the function's FunctionInfo. Throws std::invalid_argument for arguments that it
  /// cannot take.
  virtual nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const = 0;

  /// Its metrics: always the same ones, so that a counter which nothing has happened to is 0 and not missing. Any
  /// thread, beside show() too.
  virtual std::vector<FunctionMetric> metrics() const { return {}; }

  /// Set by the pipeline: where this function's reasons begin in the pipeline's list.
  void set_first_reason(std::uint16_t index) { first_reason_ = index; }

 protected:
  Verdict drop(std::uint16_t reason) const {
    return {Verdict::Kind::drop, static_cast<std::uint16_t>(first_reason_ + reason)};
  }
  Verdict punt(std::uint16_t reason) const {
    return {Verdict::Kind::punt, static_cast<std::uint16_t>(first_reason_ + reason)};
  }
  /// The one of these that the reason is for. `reason` is its index, or an enumerator that stands for that.
  template <class Index>
  Verdict drop_or_punt(Index reason) const {
    const auto index = static_cast<std::uint16_t>(reason);
    return reasons()[index].kind == Verdict::Kind::drop ? drop(index) : punt(index);
  }

  /// Set-up: packets of these ethertypes (FunctionContext::later_ethertypes), if they are not of its own, are others'.
  void leave_to_others(std::span<const std::uint16_t> ethertypes, std::uint16_t own = 0) {
    for (const std::uint16_t ethertype : ethertypes) {
      if (ethertype != own) others_.push_back(ethertype);
    }
  }
  bool is_left_to_others(std::uint16_t ethertype) const {
    return std::ranges::find(others_, ethertype) != others_.end();
  }

 private:
  std::uint16_t first_reason_ = 0;
  std::vector<std::uint16_t> others_;
};

/// A topic of `penumbra show`.
struct ShowTopic {
  struct Flag {
    std::string name;  ///< with its dashes, as show() is given it
    std::string help;
    /// What stands behind it, "N"; show() is given that too, as the next argument. Empty: nothing does.
    // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
    std::string value = {};
  };
  std::string name;
  std::string help;
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<Flag> flags = {};
};

/// Which packets a function leaves to those after it in the pipeline.
enum class PassesOn : std::uint8_t {
  whatever_it_does_not_drop,  ///< as an access list does
  ethertypes_of_others,       ///< those of FunctionInfo::ethertypes of functions after it, but not its own first one
  nothing,
};

/// Which of the ports' addresses (PortInfo) a function reads.
enum class UsedAddresses : std::uint8_t { none, ipv4, ipv6, both };

/// How a function presents itself.
struct FunctionInfo {
  std::string name;     ///< its key in the configuration's pipeline
  std::string summary;  ///< one line
  std::vector<ShowTopic> topics;
  /// Makes one from its configuration, tables filled. Throws InputError with the place of what is wrong.
  std::unique_ptr<Function> (*create)(const ConfigNode& config, const FunctionContext& context) = nullptr;
  /// Ethertypes that the function handles, the most important first. Earlier functions of the pipeline leave packets of
  /// these types alone. May be empty.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<std::uint16_t> ethertypes = {};
  /// Commands that change its tables while it runs; Function::prepare() carries them out.
  // NOLINTNEXTLINE(readability-redundant-member-init): for who leaves it out of an initializer
  std::vector<FunctionCommand> commands = {};
  PassesOn passes_on = PassesOn::whatever_it_does_not_drop;
  UsedAddresses addresses = UsedAddresses::none;
};

/// Adds a function to the list; for a namespace-scope constant in the function's own folder. Returns true.
bool register_function(FunctionInfo info);
/// Every function of this build, by name.
const std::vector<FunctionInfo>& functions();
/// The one of that name, or null.
const FunctionInfo* find_function(std::string_view name);
/// The commands of all functions, each once, by name: the actions that any of the functions has.
std::vector<FunctionCommand> function_commands();

}  // namespace penumbra
