// SPDX-License-Identifier: Apache-2.0
#include "cuda/engine.h"

#include <algorithm>
#include <utility>

#include "cuda/cpu_engine.h"
#include "cuda/queue.h"
#include "offload/registration.h"

namespace penumbra::cuda {
namespace {

LaunchOptions options_of(const EngineSettings& settings) {
  LaunchOptions options;
  const auto told = [&settings](const char* name, unsigned otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : static_cast<unsigned>(found->second);
  };
  if (settings.contains("streams")) options.constraints.streams = told("streams", 0);
  if (settings.contains("gather")) options.constraints.gather = told("gather", 0);
  if (settings.contains("mapped"))
    options.constraints.access = told("mapped", 0) != 0 ? Access::mapped : Access::copied;
  options.max_delay = std::chrono::microseconds(told("max_delay", 0));
  return options;
}

}  // namespace

std::vector<EngineSetting> settings() {
  return {{.name = "streams",
           .least = 1,
           .most = kMostStreams,
           .summary = "launches in flight at once",
           .tested = {1, 2, 16}},
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

CudaEngine::CudaEngine(Backend backend, LaunchOptions options)
    : backend_(std::move(backend)),
      constraints_(options.constraints),
      cpu_(create_cpu_engine()),
      queues_(backend_.nodes.size()) {
  for (unsigned i = 0; i < backend_.nodes.size(); ++i) {
    const auto open = [this, i](unsigned streams) { return backend_.open(i, streams); };
    threads_.push_back(std::make_unique<LaunchThread>(open, options));
  }
}

CudaEngine::CudaEngine(Backend backend, const EngineSettings& settings)
    : CudaEngine(std::move(backend), options_of(settings)) {}

CudaEngine::~CudaEngine() {
  for (const auto& launch_thread : threads_) launch_thread->stop();
}

void CudaEngine::use_table(Table& table) {
  const auto is_of = [&table](const auto& copies) { return &copies->table() == &table; };
  if (std::ranges::any_of(tables_, is_of)) return;
  for (const auto& launch_thread : threads_) {
    launch_thread->add(*tables_.emplace_back(std::make_unique<TableCopies>(table, launch_thread->doorbell())));
  }
}

std::shared_ptr<void> CudaEngine::register_memory(const std::shared_ptr<const HugeMemory>& memory) {
  return offload::register_with(threads_, memory);
}

std::unique_ptr<EngineQueue> CudaEngine::open_queue_for(unsigned core) {
  for (const auto& launch_thread : threads_) launch_thread->keep_off(core);
  return open_queue_near(node_of_core(core));
}

std::unique_ptr<EngineQueue> CudaEngine::open_queue_near(int node) {
  for (const auto& launch_thread : threads_) launch_thread->start();
  const std::size_t gpu = nearest(backend_.nodes, queues_, node);
  ++queues_[gpu];
  return std::make_unique<CudaQueue>(*threads_[gpu], *cpu_, cpu_->open_queue());
}

/// Measures the plans that are neither fixed by the user nor known from an earlier run. A plan matters little for
/// payload, which is never copied to the GPU's memory.
void CudaEngine::load_calibrations(std::vector<EngineCalibration> calibrations) {
  for (const Expected& expected : expected_) {
    if (constraints_.decides_all() || expected.shader->has_payload()) continue;
    const auto is_its = [&expected](const EngineCalibration& each) {
      return each.shader == expected.shader->name && each.size_class == expected.table->size_class();
    };
    const auto known = std::ranges::find_if(calibrations, is_its);
    const auto plan = known == calibrations.end() ? std::nullopt : plan_of(known->value);
    for (const auto& launch_thread : threads_) {
      if (plan && constraints_.allows(*plan)) {
        launch_thread->use_plan({.shader = expected.shader,
                                 .table = expected.table,
                                 .plan = *plan,
                                 .gain = known->gain,
                                 .is_loaded = true});
      } else {
        launch_thread->calibrate(*expected.shader, *expected.table);
      }
    }
  }
}

/// Returns, for each shader and size class, the result of the first GPU that has one; the GPUs are alike.
std::vector<EngineCalibration> CudaEngine::calibrations() const {
  std::vector<EngineCalibration> found;
  for (const auto& launch_thread : threads_) {
    for (const Choice& each : launch_thread->choices()) {
      const auto is_same = [&each](const EngineCalibration& other) {
        return other.shader == each.shader->name && other.size_class == each.size_class;
      };
      if (each.is_loaded || std::ranges::any_of(found, is_same)) continue;
      found.push_back({.shader = each.shader->name,
                       .size_class = each.size_class,
                       .value = to_value(each.plan),
                       .gain = each.gain});
    }
  }
  return found;
}

std::string CudaEngine::calibration_key() const {
  const std::string constraints = constraints_.text();
  return first_device_name(threads_) + (constraints.empty() ? "" : ", " + constraints);
}

std::vector<std::string> CudaEngine::notes() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    for (const std::string& line : threads_[i]->notes()) {
      lines.push_back(threads_.size() == 1 ? line : "GPU " + std::to_string(i) + ": " + line);
    }
  }
  return lines;
}

}  // namespace penumbra::cuda
