// SPDX-License-Identifier: Apache-2.0
//
// A running router: ports, workers, pipeline and their statistics, put together from a configuration.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/config.h"
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

/// A moment's sum over all workers. received = sent + dropped + punted + in flight; nothing is in flight after run().
struct Statistics {
  std::chrono::nanoseconds elapsed{0};
  Traffic received, sent;
  std::uint64_t dropped = 0;
  std::uint64_t punted = 0;
  std::vector<Traffic> received_by_port, sent_by_port;
  std::vector<ReasonCount> reasons;  ///< every reason there is, also those at 0
  std::vector<StepCost> steps;
  double tsc_hz = 0;
};

class Router {
 public:
  /// Creates the functions, starts the EAL, opens the ports. Throws InputError or std::runtime_error and leaves nothing
  /// half-started.
  explicit Router(const control::RouterConfig& config);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// Starts the workers and returns when the run has ended and everything is drained: limits, sources exhausted, or
  /// stop(). `tick` is called on this thread about ten times a second with a current sum.
  void run(const RunLimits& limits, const std::function<void(const Statistics&)>& tick);

  /// Ends a run from any thread or signal handler: receive no more, finish what is in flight.
  void stop() noexcept;

  Statistics statistics() const;

  /// Answers `show TOPIC ARGUMENTS...` and `trace add|show`: see control_server.h for the topics. Any thread. Throws
  /// std::invalid_argument for what it does not know.
  nlohmann::json show(std::string_view topic, std::span<const std::string> arguments) const;

  /// The n-th function of the pipeline, for tests and benchmarks that change its table while it runs.
  Function& function(std::size_t stage);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Creates the functions of a configuration, tables filled, as Router does, and throws them away: `penumbra check`.
void check_pipeline(const control::RouterConfig& config);

}  // namespace penumbra::runtime
