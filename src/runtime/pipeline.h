// SPDX-License-Identifier: Apache-2.0
//
// The functions of a configuration, in order, each with the engine that runs its shader.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/config.h"
#include "penumbra/engine.h"
#include "penumbra/function.h"

namespace penumbra::runtime {

/// The runtime's own reasons: the first of the pipeline's list, in this order, under the stage "router".
enum class RuntimeReason : std::uint16_t {
  undecided,
  tx_full,
  rss_ring_full,
  sink_failed,
  host_full,
  host_lost,
  host_too_long,
  port_gone
};

struct PipelineReason {
  std::string stage;
  Reason reason;
};

/// A function at work. `engine`, `shader` and `table` are null for a function without a shader.
struct Stage {
  std::string name;  ///< the function's; a second one of that name is called "name.2"
  const FunctionInfo* info = nullptr;
  std::unique_ptr<Function> function;
  std::string engine_name;
  std::string configured_engine;  ///< its name; where this machine lacks it, `engine_name` is a CPU engine's
  Engine* engine = nullptr;
  const Shader* shader = nullptr;
  Table* table = nullptr;

  /// Of that name, the one that it uses or a member of that; null if neither is.
  const Engine* engine_of(const std::string& wanted) const;
};

/// The interfaces of the host that stand for the ports, by port.
std::vector<std::string> twins(std::span<const control::PortConfig> configs);
/// What functions are told of configured ports.
std::vector<PortInfo> port_infos(std::span<const control::PortConfig> configs);

class Pipeline {
 public:
  /// Creates functions and engines. Throws InputError at the entry's place.
  Pipeline(std::span<const control::StageConfig> configs, std::span<const PortInfo> ports, GracePeriods& grace_periods,
           RouteFeed* feed = nullptr);

  const std::vector<Stage>& stages() const { return stages_; }
  /// The functions' own, and of stages whose engine this machine lacks, so that they run on the CPU; each with its
  /// place.
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// A verdict's value for drop and punt is an index into this list.
  const std::vector<PipelineReason>& reasons() const { return reasons_; }
  /// "ipv4.no_route", "router.tx_full"; of any index.
  std::string reason_name(std::uint16_t reason) const;
  /// Of a reason to punt: the drop in its place for what is over its limit, "ipv4.arp_over_limit". Of any other:
  /// itself.
  std::uint16_t over_limit(std::uint16_t reason) const { return over_limit_[reason]; }

  /// Takes over the configurations of `next`, which has the same functions and was made of `configs`, or with `apply`
  /// false only says what that changes, a line each. Throws as Function::differences() and exchange() do; then nothing
  /// has changed.
  std::vector<std::string> reload(Pipeline& next, std::span<const control::StageConfig> configs, bool apply);
  /// Throws InputError if a limit is for a reason that nothing is punted for.
  void check_punts(const control::PuntLimits& limits) const;
  /// Tells the functions the ports' final MAC addresses and MTUs.
  void bind(std::span<const PortInfo> ports);
  /// Tells them of ports that have changed. No packet is in flight. Throws what a function throws that cannot have
  /// these ports; then all functions have those that they had before.
  void rebind(std::span<const PortInfo> ports);
  /// Tells the functions that a port's link went down.
  void link_down(std::uint16_t port);
  /// A queue per stage for one worker on this core; null for a stage without a shader. Throws std::runtime_error when
  /// an engine has no more.
  std::vector<std::unique_ptr<EngineQueue>> open_queues(unsigned core);
  /// What the engines have found out by measuring, by engine's name, under the conditions of load_calibrations(); from
  /// any thread behind that.
  std::map<std::string, std::vector<EngineCalibration>> calibrations() const;
  /// What they did in an earlier run, to begin with: before the first packet, once.
  void load_calibrations(const std::map<std::string, std::vector<EngineCalibration>>& calibrations);

 private:
  template <class Use>
  void each_engine(Use use) const;
  void exchange(Pipeline& next, std::span<const std::size_t> stages);
  void add_over_limits();
  void choose_engine(Stage& stage, const control::StageConfig& config, const std::string& shader);

  std::vector<PipelineReason> reasons_;
  std::vector<std::uint16_t> over_limit_;
  std::vector<Stage> stages_;
  std::vector<PortInfo> ports_;  ///< that the functions are bound to
  std::vector<std::string> warnings_;
  std::map<std::string, std::unique_ptr<Engine>> engines_;  ///< destroyed before the tables that they mirror
  std::map<const Engine*, std::string> calibration_key_;    ///< of theirs and their members'
};

/// The pipeline of a configuration beside the one that runs: tables filled, and no packet ever goes through.
class SparePipeline {
 public:
  /// Throws as Router does of the pipeline and the punts' limits.
  explicit SparePipeline(const control::RouterConfig& config);
  SparePipeline(const SparePipeline&) = delete;
  SparePipeline& operator=(const SparePipeline&) = delete;
  ~SparePipeline() = default;

  Pipeline& pipeline() { return pipeline_; }

 private:
  NoReaders no_readers_;
  std::unique_ptr<RouteFeed> feed_;  ///< never started
  Pipeline pipeline_;
};

}  // namespace penumbra::runtime
