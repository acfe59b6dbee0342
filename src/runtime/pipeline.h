// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions of a configuration in order, each with the engine that runs its shader.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/config.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"
#include "runtime/packet_memory.h"

namespace penumbra::runtime {

/// Lists the runtime's own reasons. They come first in the pipeline's list, in this order, under the stage "router".
enum class RuntimeReason : std::uint16_t {
  undecided,
  tx_full,
  rss_ring_full,
  sink_failed,
  host_full,
  host_lost,
  host_too_long,
  port_gone,
  emitter_full,
  too_many_visits
};

constexpr Verdict drop_as(RuntimeReason reason) {
  return {Verdict::Kind::drop, static_cast<std::uint16_t>(reason)};
}

struct PipelineReason {
  std::string stage;
  Reason reason;
};

/// Holds a shader of a function, with the engine that runs it.
struct StageShader {
  const Shader* shader = nullptr;
  Table* table = nullptr;
  Engine* engine = nullptr;
  std::string engine_name;
};

/// Holds an instance of a function.
struct Stage {
  std::string name;  ///< The function's name; a second instance is called "name.2".
  const FunctionInfo* info = nullptr;
  std::unique_ptr<Function> function;
  /// Engine of the configuration. If this machine lacks it, the shaders run on a CPU engine instead.
  std::string configured_engine;
  std::vector<StageShader> shaders;
  /// The stages of `go_to`: names of the function's reasons, or "pass", with the stages that these packets continue
  /// with.
  std::vector<std::pair<std::string, std::uint16_t>> go_to;

  /// Return the names of the stage's engines and shaders, each once, with commas in between; "" without a shader.
  std::string engine_names() const;
  std::string shader_names() const;
  /// Returns an engine of the stage or its member called `wanted`, or null.
  const Engine* engine_of(const std::string& wanted) const;
};

/// Returns the names of the host interfaces that represent the ports, by port.
std::vector<std::string> twins(std::span<const control::PortConfig> configs);
/// Returns the information that functions get about configured ports.
std::vector<PortInfo> port_infos(std::span<const control::PortConfig> configs);

class Pipeline {
 public:
  /// Creates functions and engines. Throws InputError at the entry's place.
  Pipeline(std::span<const control::StageConfig> configs, std::span<const PortInfo> ports, GracePeriods& grace_periods,
           RouteFeed* feed = nullptr, std::uint16_t workers = 1);

  const std::vector<Stage>& stages() const { return stages_; }
  /// Returns the number of workers.
  std::uint16_t workers() const { return workers_; }
  /// Returns the most packets that the functions hold at a time.
  std::uint32_t most_held() const;
  /// Returns the functions' warnings and those about stages that run on the CPU because this machine lacks their
  /// engine, each with its place.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Returns all reasons. A verdict's value for drop and punt is an index into this list.
  const std::vector<PipelineReason>& reasons() const { return reasons_; }
  /// Returns a reason's name, such as "ipv4.no_route" or "router.tx_full". Accepts any index.
  std::string reason_name(std::uint16_t reason) const;
  /// Returns the verdict on a packet on which the function of `stage` decided by `verdict`: go_to if the configuration
  /// names another stage for it, otherwise `verdict`.
  Verdict redirected(std::uint16_t stage, Verdict verdict) const;
  /// Returns the drop reason for punts over the limit of `reason`, such as "ipv4.arp_over_limit". For other reasons,
  /// returns `reason`.
  std::uint16_t over_limit(std::uint16_t reason) const { return over_limit_[reason]; }

  /// Exchanges the configurations with `next`, which must have the same functions and was created from `configs`. With
  /// `apply` false, changes nothing. Returns the changes, a line each. Throws like Function::differences() and
  /// exchange() and then changes nothing.
  std::vector<std::string> reload(Pipeline& next, std::span<const control::StageConfig> configs, bool apply);
  /// Throws InputError if a limit is for a reason that no function punts with.
  void check_punts(const control::PuntLimits& limits) const;
  /// Gives the ports' final MAC addresses and MTUs to the functions.
  void bind(std::span<const PortInfo> ports);
  /// Notifies the functions of changed ports. No packet may be in flight. Throws the exception of a function that
  /// cannot have these ports; then all functions keep their previous ports.
  void rebind(std::span<const PortInfo> ports);
  /// Notifies the functions that a port's link went down.
  void link_down(std::uint16_t port);
  using Queues = std::vector<std::vector<std::unique_ptr<EngineQueue>>>;
  /// Returns the engine queues of one worker on this core, by stage and shader. Throws std::runtime_error if an engine
  /// has no more queues.
  Queues open_queues(unsigned core);
  /// Returns the memory of packets that the queues of stages with payload share.
  PacketMemory& packet_memory() { return packet_memory_; }
  /// Returns the engines' calibrations by engine name, with the calibration keys of load_calibrations(). Any thread may
  /// call it after load_calibrations().
  std::map<std::string, std::vector<EngineCalibration>> calibrations() const;
  /// Loads the engines' calibrations of an earlier run. Call once, before the first packet.
  void load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations);

 private:
  template <class Use>
  void each_engine(Use use) const;
  void exchange(Pipeline& next, std::span<const std::size_t> stages);
  void add_over_limits();
  void redirect(Stage& stage, const control::StageConfig& config);
  void choose_engine(Stage& stage, const control::StageConfig& config, const FunctionShader& shader);

  std::vector<PipelineReason> reasons_;
  std::vector<std::uint16_t> over_limit_;
  static constexpr std::uint16_t kNowhere = std::numeric_limits<std::uint16_t>::max();
  std::vector<std::uint16_t> reason_to_;  ///< By reason: the stage of `go_to`, or kNowhere.
  std::vector<std::uint16_t> pass_to_;    ///< By stage: the same of undecided packets.
  const std::uint16_t workers_;
  std::vector<Stage> stages_;
  std::vector<PortInfo> ports_;  ///< the ports to which the functions are bound
  std::vector<std::string> warnings_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;  ///< Destroyed before the tables that they mirror.
  std::map<const Engine*, std::string> calibration_key_;    ///< Keys of the engines and their members.
  PacketMemory packet_memory_;                              ///< Destroyed before the engines.
};

/// Owns a pipeline of a configuration in addition to the running pipeline. The tables are filled, but no packet passes
/// through.
class SparePipeline {
 public:
  /// Throws like Router for the pipeline and the limits of punts.
  explicit SparePipeline(const control::RouterConfig& config);
  SparePipeline(const SparePipeline&) = delete;
  SparePipeline& operator=(const SparePipeline&) = delete;
  ~SparePipeline() = default;

  Pipeline& pipeline() { return pipeline_; }

 private:
  NoReaders no_readers_;
  std::unique_ptr<RouteFeed> feed_;  ///< Never started.
  Pipeline pipeline_;
};

}  // namespace penumbra::runtime
