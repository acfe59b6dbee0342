// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda-resident`: shaders in a kernel that stays on the GPU, each batch by a group of threads that waits
// for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda_resident/keeper.h"
#include "penumbra/engine.h"

namespace penumbra::cuda_resident {

/// What the engine is, but for how it is probed and made.
EngineInfo description();

/// The GPU is opened with the first queue: an engine that is only asked for its shaders costs nothing.
class ResidentEngine final : public Engine {
 public:
  ResidentEngine(Backend backend, ResidentOptions options);
  /// With the options that the settings give.
  ResidentEngine(Backend backend, const EngineSettings& settings);

  const Shader* find_shader(const std::string& name) const override { return keeper_.backend().find_shader(name); }
  void use_table(Table& table) override { keeper_.add(table); }
  std::unique_ptr<EngineQueue> open_queue() override;
  /// The keeper stays off the worker's core.
  std::unique_ptr<EngineQueue> open_queue_for(unsigned core) override;
  std::vector<std::string> notes() const override { return keeper_.notes(); }
  std::string conditions() const override { return keeper_.device_name(); }

 private:
  const std::unique_ptr<Engine> cpu_;  ///< what runs shaders while the GPU does not
  Keeper keeper_;
};

}  // namespace penumbra::cuda_resident
