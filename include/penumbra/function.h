// SPDX-License-Identifier: Apache-2.0
//
// Defines the control half of a network function: its reasons, tables, configuration, commands and output. The data
// half processes packets (penumbra/function_worker.h). A function that looks each packet up in one table derives from
// LookupFunction (penumbra/lookup_function.h). A function is a folder under src/functions that registers a
// FunctionInfo.
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
#include "penumbra/function_worker.h"
#include "penumbra/ip.h"
#include "penumbra/route_feed.h"
#include "penumbra/table.h"

namespace penumbra {

/// Describes a reason for dropping or punting a packet. Each reason has its own counter.
struct Reason {
  std::string name;  ///< Lower case with underscores; unique within the function.
  Verdict::Kind kind = Verdict::Kind::drop;
  std::string help;  ///< One line for `show drops`.
};

/// Represents an address of the router on a port, with the prefix of the attached network.
template <class Family>
struct InterfaceAddressOf {
  typename Family::Address address;
  typename Family::Prefix network;
};
using InterfaceAddress = InterfaceAddressOf<Ipv4>;

/// Describes a metric of a function for monitoring (Prometheus): `penumbra_NAME{stage="STAGE",LABELS}`. A counter only
/// grows and is named `penumbra_NAME_total`.
struct FunctionMetric {
  enum class Kind : std::uint8_t { counter, gauge };
  std::string name;  ///< Lower case with underscores; begins with the function's name: "flows_opened".
  std::string help;  ///< One line, equal for all metrics of one name.
  Kind kind = Kind::counter;
  std::uint64_t value = 0;
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<std::pair<std::string, std::string>> labels = {};
};

/// Holds the properties of a port that functions can use.
struct PortInfo {
  std::string name;
  std::uint16_t index = 0;
  MacAddress mac;            ///< 0 until the port is open, unless the configuration gives the address.
  std::uint16_t mtu = 1500;  ///< Bytes of the IP packet.
  bool promiscuous = true;   ///< True if the port accepts frames to any unicast MAC address.
  /// True if the port was removed and only its index remains. A removed port has no name and no addresses; send nothing
  /// there.
  bool removed = false;
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

/// Holds the arguments of a function's creation.
struct FunctionContext {
  std::span<const PortInfo> ports;  ///< Ports by index.
  GracePeriods& grace_periods;      ///< Grace periods for tables that workers read. Outlives the function.
  RouteFeed* feed = nullptr;        ///< Routes of the host, or null. Outlives the function.
  /// Ethertypes that later functions of the pipeline handle (FunctionInfo::ethertypes). This function must not drop or
  /// punt packets with these ethertypes, unless it handles them itself.
  // NOLINTBEGIN(readability-redundant-member-init): initialisers may omit the members
  std::span<const std::uint16_t> later_ethertypes = {};
  /// Names of the pipeline's stages in order, for Emitter::go_to(): a stage's index is its place here.
  std::span<const std::string> stages = {};
  std::uint16_t stage = 0;    ///< Index of the function's own stage.
  std::uint16_t workers = 1;  ///< Number of workers.
  // NOLINTEND(readability-redundant-member-init)
};

/// Names a shader of a function and the table that the shader reads. The table belongs to the function.
struct FunctionShader {
  std::string name;
  Table* table = nullptr;
};

/// Controls the processing of a pipeline's stage. All calls run on the control thread unless they say otherwise.
class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;

  /// Returns the reasons, in the order of the indices passed to drop() and punt().
  virtual const std::vector<Reason>& reasons() const = 0;
  /// Returns the function's shaders (Chunk::shader). Always the same list.
  virtual std::vector<FunctionShader> shaders() { return {}; }

  /// Returns the most packets that the data halves of all workers hold at a time. The packet pools have room for them.
  virtual std::size_t most_held() const { return 0; }

  /// Returns warnings about the configuration, one per line, with the place. Called once, after create().
  virtual std::vector<std::string> warnings() const { return {}; }

  /// Binds the function to the open ports, whose MAC addresses and MTUs are final. Called once, before any packet.
  virtual void bind(std::span<const PortInfo> ports) = 0;

  /// Creates the data half for a worker. Runs on the worker's thread after bind() and before the worker's first packet,
  /// while other workers may be processing packets. An implementation touches the memory that the worker will write, so
  /// that no packet waits for a page fault. The function outlives the data half. Throws std::runtime_error if the
  /// worker cannot have a data half.
  virtual std::unique_ptr<FunctionWorker> open_worker(const WorkerContext& context) = 0;

  /// Takes over changed ports: ports were added at the end, removed, or got other MAC addresses, MTUs or addresses. No
  /// packet is in flight. Only threads of the function itself and its listeners may run meanwhile. Must return soon,
  /// because the workers wait. Override this function if bind() must not be called again or does not take over every
  /// change. Throws std::invalid_argument for ports that the function cannot have; nothing is then changed.
  virtual void rebind(std::span<const PortInfo> ports) { bind(ports); }

  /// Handles a link failure of a port while packets go through, for example a pulled cable. Attached hosts may have
  /// moved when the link returns. Called on the control thread within a tenth of a second; shorter failures are not
  /// reported. Must return soon.
  virtual void link_down(std::uint16_t /*port*/) {}

  /// Returns the changes, one per line, that taking over the configuration of `next` would make. create() made `next`
  /// from `config`; it has this function's kind and ports. Throws InputError at a setting that only a restart can
  /// change.
  virtual std::vector<std::string> differences(const Function& next, const ConfigNode& config) const = 0;
  /// Exchanges configurations with `next` while packets go through this function but not through `next`. A second call
  /// undoes the exchange. Called after differences() returned at least one change. If it throws, nothing has changed.
  virtual void exchange(Function& next) = 0;

  /// Checks all entries of a command (FunctionInfo::commands) against the current tables and returns the change. The
  /// change is valid until the tables change otherwise, and must not outlive the function. Throws InputError with the
  /// place of a wrong entry, and std::invalid_argument if the command does not apply here.
  virtual std::unique_ptr<Change> prepare(std::string_view command, std::string_view action,
                                          const CommandEntries& entries);
  /// Returns the tables that commands change, for `penumbra show config`, `save` and `plan`. Control thread.
  virtual std::vector<ConfigTable> tables() const { return {}; }
  /// Marks the tables as saved: the configuration has every change.
  virtual void tables_are_saved() {}

  /// Returns the output of `show TOPIC ARGUMENTS...`: an object, or an array of objects (a table). A nested object is a
  /// group of columns. `topic` is one of FunctionInfo::topics. Throws std::invalid_argument for arguments that it
  /// cannot take.
  virtual nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const = 0;

  /// Returns the function's metrics. The set of metrics never changes, so that a counter without events is 0 and not
  /// missing. Any thread, concurrently with show() too.
  virtual std::vector<FunctionMetric> metrics() const { return {}; }

  /// Sets the index of this function's first reason in the pipeline's list. Called by the pipeline.
  void set_first_reason(std::uint16_t index) {
    first_reason_ = index;
    known_reasons_ = &reasons();
  }

  /// Return the verdict of a reason: an index in reasons(). Any thread.
  Verdict drop(std::uint16_t reason) const {
    return {Verdict::Kind::drop, static_cast<std::uint16_t>(first_reason_ + reason)};
  }
  Verdict punt(std::uint16_t reason) const {
    return {Verdict::Kind::punt, static_cast<std::uint16_t>(first_reason_ + reason)};
  }
  /// Returns the verdict of the reason's kind. `reason` is an index or an enumerator with that value.
  template <class Index>
  Verdict drop_or_punt(Index reason) const {
    const auto index = static_cast<std::uint16_t>(reason);
    const std::vector<Reason>& all = known_reasons_ != nullptr ? *known_reasons_ : reasons();
    return all[index].kind == Verdict::Kind::drop ? drop(index) : punt(index);
  }

 protected:
  /// Leaves packets of `ethertypes` (FunctionContext::later_ethertypes) to later functions, except `own`. Call during
  /// set-up.
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
  const std::vector<Reason>* known_reasons_ = nullptr;  ///< A virtual call for each dropped packet takes longer.
  std::vector<std::uint16_t> others_;
};

/// Describes a topic of `penumbra show`.
struct ShowTopic {
  struct Flag {
    std::string name;  ///< Name with its dashes, as show() receives it.
    std::string help;
    /// Name of the flag's value, such as "N". show() receives the value as the next argument. Empty: the flag has no
    /// value.
    // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
    std::string value = {};
  };
  std::string name;
  std::string help;
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<Flag> flags = {};
};

/// Selects the packets that a function leaves to later functions of the pipeline.
enum class PassesOn : std::uint8_t {
  whatever_it_does_not_drop,  ///< Every packet that is not dropped, as for an access list.
  ethertypes_of_others,       ///< Packets of later functions' ethertypes, except this function's first ethertype.
  nothing,
};

/// Selects the addresses of ports (PortInfo) that a function reads.
enum class UsedAddresses : std::uint8_t { none, ipv4, ipv6, both };

/// Describes a function and creates its instances.
struct FunctionInfo {
  std::string name;     ///< The function's key in the configuration's pipeline.
  std::string summary;  ///< One line.
  std::vector<ShowTopic> topics;
  /// Creates a function with filled tables from its configuration. Throws InputError with the place of an error.
  std::unique_ptr<Function> (*create)(const ConfigNode& config, const FunctionContext& context) = nullptr;
  /// Ethertypes that the function handles, the most important first. Earlier functions of the pipeline leave packets
  /// with these ethertypes alone. May be empty.
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<std::uint16_t> ethertypes = {};
  /// Commands that change the function's tables at run time; Function::prepare() executes them.
  // NOLINTNEXTLINE(readability-redundant-member-init): initialisers may omit the member
  std::vector<FunctionCommand> commands = {};
  PassesOn passes_on = PassesOn::whatever_it_does_not_drop;
  UsedAddresses addresses = UsedAddresses::none;
  /// True if the runtime calls FunctionWorker::tick() and finish(). Required to hold packets.
  bool has_ticks = false;
  /// True if Emitter::allocate() gives the function packets.
  bool creates_packets = false;
  /// True if Emitter::replace() hands packets to the workers that receive their flows.
  bool hands_over = false;
};

/// Adds a function to the list and returns true. Call this function to initialise a namespace-scope constant in the
/// function's own folder.
bool register_function(FunctionInfo info);
/// Returns every function of this build, by name.
const std::vector<FunctionInfo>& functions();
/// Returns the function of that name, or null.
const FunctionInfo* find_function(std::string_view name);
/// Returns the commands of all functions, each once, by name. A command has the actions of every function that
/// registers it.
std::vector<FunctionCommand> function_commands();

}  // namespace penumbra
