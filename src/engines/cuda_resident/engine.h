// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda-resident`: shaders in a kernel that stays on the GPU, each batch by a group of threads that waits
// for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda_resident/resident_thread.h"
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {

/// What the engine is, but for how it is probed and made.
EngineInfo description();

/// Each GPU has a thread, and every table. A GPU is opened with its first queue: an engine that is only asked for its
/// shaders costs nothing. A queue keeps to one GPU: if that one is lost, its batches run on the CPU.
class ResidentEngine final : public Engine {
 public:
  ResidentEngine(Backend backend, ResidentOptions options);
  /// With the options that the settings give.
  ResidentEngine(Backend backend, const EngineSettings& settings);

  const Shader* find_shader(const std::string& name) const override { return backend_.find_shader(name); }
  void use_table(Table& table) override;
  std::unique_ptr<EngineQueue> open_queue() override { return open_queue_near(-1); }
  /// The GPU is one near the worker's core, and the threads stay off that.
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override;
  std::vector<std::string> notes() const override;
  /// The first GPU's name that was opened: they are alike.
  std::string calibration_key() const override;

 private:
  std::unique_ptr<EngineQueue> open_queue_near(int node);

  const Backend backend_;
  const std::unique_ptr<Engine> cpu_;                     ///< what runs shaders while the GPU does not
  std::vector<std::unique_ptr<ResidentThread>> threads_;  ///< of each GPU
  std::vector<unsigned> queues_;                          ///< that each was given so far
};

}  // namespace penumbra::cuda_resident
