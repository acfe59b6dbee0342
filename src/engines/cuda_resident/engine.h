// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda-resident`: runs shaders in a resident kernel on the GPU. A group of threads waits for each batch.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda_resident/resident_thread.h"
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {

/// Returns the engine's description without `probe` and `create`.
EngineInfo description();

/// Each GPU has a resident thread and a copy of every table. The first queue on a GPU opens it, so that an engine that
/// only lists its shaders costs nothing. A queue uses one GPU only; after a failure of this GPU its batches run on the
/// CPU.
class ResidentEngine final : public Engine {
 public:
  ResidentEngine(Backend backend, ResidentOptions options);
  /// Makes the engine with the options of `settings`.
  ResidentEngine(Backend backend, const EngineSettings& settings);

  const Shader* find_shader(const std::string& name) const override { return backend_.find_shader(name); }
  void use_table(Table& table) override;
  std::unique_ptr<EngineQueue> open_queue() override { return open_queue_near(-1); }
  /// Uses a GPU near the worker's core, and keeps the resident threads off that core.
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override;
  std::shared_ptr<void> register_memory(const std::shared_ptr<const HugeMemory>& memory) override;
  std::vector<std::string> notes() const override;
  /// Returns the name of the first GPU that was opened; the GPUs are alike.
  std::string calibration_key() const override;

 private:
  std::unique_ptr<EngineQueue> open_queue_near(int node);

  const Backend backend_;
  const std::unique_ptr<Engine> cpu_;                     ///< Runs shaders while the GPU cannot.
  std::vector<std::unique_ptr<ResidentThread>> threads_;  ///< One per GPU.
  std::vector<unsigned> queues_;                          ///< Queues that each GPU has been given.
};

}  // namespace penumbra::cuda_resident
