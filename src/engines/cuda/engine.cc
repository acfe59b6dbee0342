// SPDX-License-Identifier: Apache-2.0
#include "cuda/engine.h"

#include <algorithm>
#include <utility>

#include "cuda/queue.h"

namespace penumbra::cuda {
namespace {

/// The best engine of this build that runs shaders on the worker's own core.
std::string name_of_cpu_engine() {
  const bool has_gopt = std::ranges::find(engines(), "gopt", &EngineInfo::name) != engines().end();
  return has_gopt ? "gopt" : "scalar";
}

MasterOptions options_of(const EngineSettings& settings) {
  MasterOptions options;
  const auto told = [&settings](const char* name, unsigned otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : static_cast<unsigned>(found->second);
  };
  options.streams = told("streams", options.streams);
  options.gather = told("gather", options.gather);
  if (settings.contains("mapped")) options.access = told("mapped", 0) != 0 ? Access::mapped : Access::copied;
  options.max_delay = std::chrono::microseconds(told("max_delay", 0));
  return options;
}

}  // namespace

std::vector<EngineSetting> settings() {
  return {{.name = "streams", .least = 1, .most = 16, .summary = "launches in flight at once", .tested = {1, 2, 16}},
          {.name = "gather",
           .least = 1,
           .most = kMostSegments,
           .summary = "batches in one launch at most",
           .tested = {1, 3, kMostSegments}},
          {.name = "mapped",
           .least = 0,
           .most = 1,
           .summary = "1: the GPU reads and writes the host's memory; 0: copies",
           .tested = {0, 1}},
          {.name = "max_delay",
           .least = 0,
           .most = 1'000'000,
           .summary = "microseconds for which a batch may wait for others to share its launch",
           .tested = {50}}};
}

CudaEngine::CudaEngine(Backend backend, MasterOptions options)
    : backend_(std::move(backend)), cpu_(create_engine(name_of_cpu_engine())), master_(backend_.open, options) {}

CudaEngine::CudaEngine(Backend backend, const EngineSettings& settings)
    : CudaEngine(std::move(backend), options_of(settings)) {}

void CudaEngine::use_table(Table& table) {
  const auto is_of = [&table](const auto& copies) { return &copies->table() == &table; };
  if (std::ranges::any_of(tables_, is_of)) return;
  master_.add(*tables_.emplace_back(std::make_unique<TableCopies>(table, master_.doorbell())));
}

std::unique_ptr<EngineQueue> CudaEngine::open_queue() {
  master_.start();
  return std::make_unique<CudaQueue>(master_, *cpu_, cpu_->open_queue());
}

std::vector<std::string> CudaEngine::notes() const {
  return master_.notes();
}

}  // namespace penumbra::cuda
