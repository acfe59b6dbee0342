// SPDX-License-Identifier: Apache-2.0
//
// The engine `cuda`: shaders on a GPU, in batches that one master thread gathers from all workers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/master.h"
#include "cuda/table_copies.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// What the engine can be told.
std::vector<EngineSetting> settings();

/// The GPU is opened with the first queue: an engine that is only asked for its shaders costs nothing.
class CudaEngine final : public Engine {
 public:
  CudaEngine(Backend backend, MasterOptions options);
  /// With the options that the settings give.
  CudaEngine(Backend backend, const EngineSettings& settings);

  const Shader* find_shader(const std::string& name) const override { return backend_.find_shader(name); }
  void use_table(Table& table) override;
  void expect(const Shader& shader, const Table& table) override { expected_.emplace_back(&shader, &table); }
  std::unique_ptr<EngineQueue> open_queue() override;
  std::vector<std::string> notes() const override;
  std::vector<EngineFinding> findings() const override;
  void recall(std::vector<EngineFinding> findings) override;

 private:
  const Backend backend_;
  const PlanWish wish_;
  const std::unique_ptr<Engine> cpu_;  ///< what runs shaders while the GPU does not
  std::vector<std::pair<const Shader*, const Table*>> expected_;
  std::vector<std::unique_ptr<TableCopies>> tables_;
  Master master_;  ///< ends before the tables that it copies
};

}  // namespace penumbra::cuda
