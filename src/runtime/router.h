// SPDX-License-Identifier: Apache-2.0
//
// A running router: ports, workers, pipeline and their statistics, put together from a configuration.
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

/// When a run ends by itself. A run also ends when every source is finite and drained.
struct RunLimits {
  std::optional<std::chrono::nanoseconds> time;
  std::optional<std::uint64_t> packets;  ///< received, all ports together; exact
};

/// Packets and bytes of one port, one direction. Bytes are frame bytes without FCS.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

struct ReasonCount {
  std::string stage;  ///< the function, or "router" for the runtime's own
  std::string reason;
  Verdict::Kind kind = Verdict::Kind::drop;
  std::uint64_t packets = 0;
};

/// Cycles that one step of the way took, all workers together: "receive", "ipv4.pre", "ipv4.shade", "ipv4.post",
/// "send".
struct StepCost {
  std::string step;
  std::uint64_t cycles = 0;
  std::uint64_t packets = 0;
  std::uint64_t chunks = 0;
};

/// A moment's sum over all workers. received + from_host + replicated = sent + dropped + punted + in flight; nothing is
/// in flight after run().
struct Statistics {
  std::chrono::nanoseconds elapsed{0};
  Traffic received, sent;
  Traffic from_host;             ///< what the host gave to be sent, by way of the ports' twins
  std::uint64_t replicated = 0;  ///< copies of packets that leave by several ports, the packets themselves not counted
  std::uint64_t dropped = 0;
  std::uint64_t punted = 0;
  std::vector<Traffic> received_by_port, sent_by_port, from_host_by_port;
  std::vector<ReasonCount> reasons;  ///< every reason there is, also those at 0
  std::vector<StepCost> steps;
  double tsc_hz = 0;
};

/// How a router comes by its ports; tests bring their own.
using OpenPorts = std::function<std::vector<std::unique_ptr<io::Port>>(std::span<const control::PortConfig> configs,
                                                                       std::uint16_t workers)>;

class Router {
 public:
  /// Creates the functions, listens on the control socket (an empty path: on none) and for metrics, starts the EAL,
  /// opens the ports, in this order, so that a mistake in the configuration touches nothing. Throws InputError or
  /// std::runtime_error and leaves nothing half-started.
  explicit Router(const control::RouterConfig& config, const OpenPorts& open_ports = io::open_ports);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Starts the ports, answers on the control socket from then on, starts the workers, and returns when the run has
  /// ended and everything is drained: limits, sources exhausted, or stop(). `tick` is called on this thread with a
  /// current sum: when the workers have started, then about ten times a second, and once more at the end. To be called
  /// once. Throws what a worker could not set up (a core that does not exist, say).
  void run(const RunLimits& limits, const std::function<void(const Statistics&)>& tick);

  /// Ends a run from any thread or signal handler: receive no more, finish what is in flight. Before run(): it will end
  /// at once.
  void stop() noexcept;

  Statistics statistics() const;
  /// Whether every worker has come round, or sleeps, or is done, since this last said so, at first since the run began.
  /// False for as long as one hangs. Asked by one thread, while it runs.
  bool workers_came_round();
  /// What somebody has to set by hand for the host's stack and the ports' twins to work, in words, and which engines
  /// this machine lacks that the configuration names.
  std::vector<std::string> warnings() const;
  /// What has failed at the ports, one text each (io::Port::failure()). Any thread; final after run().
  std::vector<std::string> failures() const;
  /// The ports' names, by index: of those too that were removed, which statistics() has as well.
  std::vector<std::string> port_names() const;
  /// What each port's device lost (io::Port::device_losses()), as it was at the end of run().
  const std::vector<std::vector<io::DeviceLoss>>& device_losses() const;

  /// The pipeline's stages that run a shader, in order, each with the name of the engine that runs it.
  std::vector<std::pair<std::string, std::string>> engines() const;
  /// What they have found out by measuring, by engine's name; any thread. And what they did in an earlier run, to begin
  /// with: before run().
  std::map<std::string, std::vector<EngineCalibration>> calibrations() const;
  void load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations);

  /// Answers `show TOPIC ARGUMENTS...`: an object, or an array of them. Any thread. Topics are ports [PORT],
  /// workers, functions, drops, engines and those of the pipeline's functions. Throws std::invalid_argument for what it
  /// does not know.
  nlohmann::ordered_json show(std::string_view topic, std::span<const std::string> arguments) const;

  /// Does `reload apply|plan [FILE]`: reads the configuration again, the one that it runs or another, checks all of it
  /// and takes over what can be had without a restart, or says what that would be. Answers {"file": ..., "changes":
  /// [...], "restart": [keys that take one]}. Any thread, once run() has started the ports. Throws with everything as
  /// it was: InputError for a wrong file, std::exception for one that is right and not for this router, as when
  /// applying what takes a restart.
  nlohmann::ordered_json reload(std::string_view action, std::span<const std::string> arguments);
  /// The same for a configuration that is at hand: takes it over, or with `apply` false only says what that changes.
  nlohmann::ordered_json reconfigure(const control::RouterConfig& next, bool apply);

  /// Does a command of the functions (penumbra/command.h): checks all entries, then makes one change of them, or shows
  /// the command's topic. Answers {"changes": [{"stage": ..., "command": ..., "added": N, "removed": N, "changed":
  /// N}]}. Arguments are those of CommandRequest. Any thread. Throws with everything as it was: InputError with the
  /// place of a wrong entry, std::invalid_argument for a command that makes no sense here, std::exception at a limit.
  nlohmann::ordered_json change(const std::string& command, std::string_view action,
                                std::span<const std::string> arguments);

  /// Does `config show|save|confirm|rollback`: the running configuration as
  /// text ({"file", "yaml", "unsaved"}); writes it back, as save_config() does
  /// ({"files": [...]}); keeps, or takes back, the changes that wait to be
  /// confirmed. Any thread. Throws std::exception with everything as it was.
  nlohmann::ordered_json configure(std::string_view action, std::span<const std::string> arguments);

  /// Explains what the router would do with a frame that it receives on `port`, without doing it (explain.h). Any
  /// thread. Throws likewise.
  nlohmann::ordered_json explain(std::string_view port, std::span<const std::string> arguments);

  /// Does `trace add N [--port PORT] [--filter EXPRESSION]`, `trace show`, `trace clear`. Any thread. Throws likewise.
  nlohmann::ordered_json trace(std::string_view action, std::span<const std::string> arguments);

  /// The n-th function of the pipeline, for tests and benchmarks that change its table while it runs.
  Function& function(std::size_t stage);

 private:
  struct Parts;
  void serve();
  std::unique_ptr<Parts> parts_;
};

/// Creates the functions of a configuration, tables filled, as Router does, and throws them away: `penumbra check`.
/// Returns the pipeline's warnings.
std::vector<std::string> check_pipeline(const control::RouterConfig& config);

}  // namespace penumbra::runtime
