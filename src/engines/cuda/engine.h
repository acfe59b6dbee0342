// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda`: runs shaders on GPUs in batches that one launch thread per GPU gathers from all workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/launch_thread.h"
#include "cuda/locality.h"
#include "cuda/table_copies.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// Returns the engine's settings.
std::vector<EngineSetting> settings();

/// Each GPU has a launch thread and a copy of every table. The first queue opens the GPUs, so that an engine that only
/// lists its shaders costs nothing. A queue uses one GPU only; after a failure of this GPU its batches run on the CPU.
class CudaEngine final : public Engine {
 public:
  CudaEngine(Backend backend, LaunchOptions options);
  /// Makes the engine with the options of `settings`.
  CudaEngine(Backend backend, const EngineSettings& settings);
  /// All queues must be closed. Owners of tables may still change them.
  ~CudaEngine() override;

  const Shader* find_shader(const std::string& name) const override { return backend_.find_shader(name); }
  void use_table(Table& table) override;
  void announce(const Shader& shader, const Table& table) override { expected_.push_back({&shader, &table}); }
  std::unique_ptr<EngineQueue> open_queue() override { return open_queue_near(-1); }
  /// Keeps the GPUs' threads off the worker's core.
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override;
  std::shared_ptr<void> register_memory(const std::shared_ptr<const HugeMemory>& memory) override;
  std::vector<std::string> notes() const override;
  std::vector<EngineCalibration> calibrations() const override;
  void load_calibrations(std::vector<EngineCalibration> calibrations) override;
  /// Returns the GPU's name and the constraints on plans.
  std::string calibration_key() const override;

 private:
  struct Expected {
    const Shader* shader = nullptr;
    const Table* table = nullptr;
  };

  std::unique_ptr<EngineQueue> open_queue_near(int node);

  const Backend backend_;
  const PlanConstraints constraints_;
  const std::unique_ptr<Engine> cpu_;  ///< Runs shaders while the GPU cannot.
  std::vector<Expected> expected_;
  std::vector<std::unique_ptr<LaunchThread>> threads_;  ///< One per GPU.
  std::vector<unsigned> queues_;                        ///< Queues that each GPU has been given.
  /// One per table and GPU. Owners of tables ring the launch threads' doorbells through these copies, so LaunchThread
  /// objects must outlive them; the threads themselves need not.
  std::vector<std::unique_ptr<TableCopies>> tables_;
};

}  // namespace penumbra::cuda
