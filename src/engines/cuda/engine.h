// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda`: shaders on a GPU, in batches that one launch_thread thread gathers from all workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/launch_thread.h"
#include "cuda/locality.h"
#include "cuda/table_copies.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// What the engine can be told.
std::vector<EngineSetting> settings();

/// Each GPU has a launch_thread, and every table. GPUs are opened with the first queue: an engine that is only asked
/// for its shaders costs nothing. A queue keeps to one GPU: if that one is lost, its batches run on the CPU.
class CudaEngine final : public Engine {
 public:
  CudaEngine(Backend backend, LaunchOptions options);
  /// With the options that the settings give.
  CudaEngine(Backend backend, const EngineSettings& settings);
  /// No queue is left. Owners of tables may go on changing them.
  ~CudaEngine() override;

  const Shader* find_shader(const std::string& name) const override { return backend_.find_shader(name); }
  void use_table(Table& table) override;
  void announce(const Shader& shader, const Table& table) override { expected_.push_back({&shader, &table}); }
  std::unique_ptr<EngineQueue> open_queue() override { return open_queue_near(-1); }
  /// The GPUs' threads stay off the worker's core.
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override;
  std::vector<std::string> notes() const override;
  std::vector<EngineCalibration> calibrations() const override;
  void load_calibrations(std::vector<EngineCalibration> calibrations) override;
  /// The GPU, and what is requested of plans.
  std::string calibration_key() const override;

 private:
  struct Expected {
    const Shader* shader = nullptr;
    const Table* table = nullptr;
  };

  std::unique_ptr<EngineQueue> open_queue_near(int node);

  const Backend backend_;
  const PlanConstraints constraints_;
  const std::unique_ptr<Engine> cpu_;  ///< what runs shaders while the GPU does not
  std::vector<Expected> expected_;
  std::vector<std::unique_ptr<LaunchThread>> threads_;  ///< of each GPU
  std::vector<unsigned> queues_;                        ///< that each was given so far
  /// Of each table one for each GPU. While they are there they are rung for by the tables' owners; so launch threads
  /// outlive them, but for their threads.
  std::vector<std::unique_ptr<TableCopies>> tables_;
};

}  // namespace penumbra::cuda
