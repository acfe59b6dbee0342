// SPDX-License-Identifier: Apache-2.0
//
// Runs a router: ports, workers, pipeline and statistics of a configuration.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/config.h"
#include "io/port.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::runtime {

/// Limits a run. A run also ends when every source is finite and drained.
struct RunLimits {
  std::optional<std::chrono::nanoseconds> time;
  std::optional<std::uint64_t> packets;  ///< Received packets of all ports together; exact.
};

/// Counts packets and bytes of one port and direction. Bytes are frame bytes without FCS.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

struct ReasonCount {
  std::string stage;  ///< The function, or "router" for the runtime's own.
  std::string reason;
  Verdict::Kind kind = Verdict::Kind::drop;
  std::uint64_t packets = 0;
};

/// Counts the cycles of one step, all workers together: "receive", "ipv4.pre", "ipv4.shade", "ipv4.post", "send".
struct StepCost {
  std::string step;
  std::uint64_t cycles = 0;
  std::uint64_t packets = 0;
  std::uint64_t chunks = 0;
};

/// Sums over all workers at one moment: received + from_host + created + replicated = sent + dropped + punted +
/// absorbed
/// + held + in flight. After run(), nothing is held or in flight.
struct Statistics {
  std::chrono::nanoseconds elapsed{0};
  Traffic received, sent;
  Traffic from_host;             ///< Packets that the host sends through the ports' twins.
  std::uint64_t replicated = 0;  ///< Copies of packets that leave by several ports; the original does not count.
  std::uint64_t created = 0;     ///< Packets that functions made.
  std::uint64_t absorbed = 0;    ///< Packets that became part of created packets.
  std::uint64_t held = 0;        ///< Packets that functions keep.
  std::uint64_t dropped = 0;
  std::uint64_t punted = 0;
  std::vector<Traffic> received_by_port, sent_by_port, from_host_by_port;
  std::vector<ReasonCount> reasons;  ///< All reasons, including those at 0.
  std::vector<StepCost> steps;
  double tsc_hz = 0;

  /// Return the two sides of the sum, without packets in flight.
  std::uint64_t entered() const { return received.packets + from_host.packets + created + replicated; }
  std::uint64_t accounted_for() const { return sent.packets + dropped + punted + absorbed + held; }
};

/// Opens the router's ports. Tests pass their own function.
using OpenPorts = std::function<std::vector<std::unique_ptr<io::Port>>(std::span<const control::PortConfig> configs,
                                                                       std::uint16_t workers)>;

class Router {
 public:
  /// Creates the functions, listens on the control socket (unless its path is empty) and for metrics, starts the EAL
  /// and opens the ports. This order lets most configuration errors appear before devices are touched. Throws
  /// InputError or std::runtime_error and then releases everything.
  explicit Router(const control::RouterConfig& config, const OpenPorts& open_ports = io::open_ports);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Runs the router once. Starts the ports, then the control socket, then the workers. Returns when the run has ended
  /// and everything is drained: because of limits, exhausted sources, or stop(). Calls `tick` on this thread with
  /// current statistics after the start of the workers, then about ten times a second, and at the end. Throws errors of
  /// workers' initialization (such as a core that does not exist).
  void run(const RunLimits& limits, const std::function<void(const Statistics&)>& tick);

  /// Ends a run: workers receive no more and finish the packets in flight. If called before run(), the run ends at
  /// once. Any thread or signal handler may call it.
  void stop() noexcept;

  Statistics statistics() const;
  /// Watchdog: returns true once every worker has looped, slept or exited since the last true, or since the start.
  /// Stays false while a worker hangs. One thread may call it during the run.
  bool workers_came_round();
  /// Returns messages about settings that the user must make for the host's stack and the ports' twins, and about
  /// configured engines that this machine lacks.
  std::vector<std::string> warnings() const;
  /// Returns the failures of the ports, one text each (io::Port::failure()). Any thread may call it; final after run().
  std::vector<std::string> failures() const;
  /// Returns the ports' names by index, including removed ports, which statistics() includes too.
  std::vector<std::string> port_names() const;
  /// Returns the packets that each port's device lost (io::Port::device_losses()), as of the end of run().
  const std::vector<std::vector<io::DeviceLoss>>& device_losses() const;

  /// Returns the pipeline's stages with a shader, in order, each with the name of its engine.
  std::vector<std::pair<std::string, std::string>> engines() const;
  /// calibrations() returns the engines' calibrations by engine name; any thread may call it. load_calibrations() loads
  /// those of an earlier run; call it before run().
  std::map<std::string, std::vector<EngineCalibration>> calibrations() const;
  void load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations);

  /// Answers `show TOPIC ARGUMENTS...` with an object or an array of objects. Topics are ports [PORT], workers,
  /// functions, drops, engines and those of the pipeline's functions. Any thread may call it. Throws
  /// std::invalid_argument for an unknown topic.
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const;

  /// Executes `reload apply|plan [FILE]`. Reads the running configuration's file again, or another file, and checks all
  /// of it. `apply` applies the changes, unless one needs a restart. `plan` only reports the changes. Returns {"file":
  /// ..., "changes": [...], "restart": [keys that need a restart]}.
  ///
  /// Any thread may call it after run() has begun to start the workers. On an exception nothing has changed. Throws
  /// InputError for an invalid file. Throws std::exception for a valid file that this router cannot apply, for example
  /// if a change needs a restart.
  nlohmann::ordered_json reload(std::string_view action, std::span<const std::string> arguments);
  /// Like reload(), but for a configuration in memory. With `apply` false, only reports the changes.
  nlohmann::ordered_json reconfigure(const control::RouterConfig& next, bool apply);

  /// Executes a command of the functions (penumbra/command.h). Checks all entries and applies them as one change, or
  /// shows the command's topic. Returns {"changes": [{"stage": ..., "command": ..., "added": N, "removed": N,
  /// "changed": N}]}. The arguments are those of CommandRequest. Any thread may call it. On an exception nothing has
  /// changed. Throws InputError with the place of a wrong entry, std::invalid_argument for an invalid command, and
  /// std::exception at a limit.
  nlohmann::ordered_json change(const std::string& command, std::string_view action,
                                std::span<const std::string> arguments);

  /// Executes `config show|save|confirm|rollback`. `show` returns the running configuration as text ({"file", "yaml",
  /// "unsaved"}). `save` writes it like save_config() ({"files": [...]}). `confirm` keeps the unconfirmed changes, and
  /// `rollback` undoes them. Any thread may call it. Throws std::exception and then changes nothing.
  nlohmann::ordered_json configure(std::string_view action, std::span<const std::string> arguments);

  /// Explains the router's treatment of a frame received on `port` without forwarding it (explain.h). Any thread may
  /// call it. Throws like change().
  nlohmann::ordered_json explain(std::string_view port, std::span<const std::string> arguments);

  /// Executes `trace add N [--port PORT] [--filter EXPRESSION]`, `trace show` or `trace clear`. Any thread may call it.
  /// Throws like change().
  nlohmann::ordered_json trace(std::string_view action, std::span<const std::string> arguments);

  /// Returns the function at position `stage`, for tests and benchmarks that change its table during the run.
  Function& function(std::size_t stage);

 private:
  struct Parts;
  void serve();
  std::unique_ptr<Parts> parts_;
};

/// Creates the functions of a configuration with filled tables, as Router does, and destroys them. `penumbra check`
/// uses it. Returns the pipeline's warnings.
std::vector<std::string> check_pipeline(const control::RouterConfig& config);

}  // namespace penumbra::runtime
