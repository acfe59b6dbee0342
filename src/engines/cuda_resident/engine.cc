// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/engine.h"

#include <utility>

#include "cuda/cpu_engine.h"
#include "cuda/locality.h"
#include "cuda_resident/queue.h"
#include "offload/registration.h"

namespace penumbra::cuda_resident {
namespace {

ResidentOptions options_of(const EngineSettings& settings) {
  ResidentOptions options;
  const auto told = [&settings](const char* name, std::uint32_t otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : static_cast<std::uint32_t>(found->second);
  };
  options.slots = told("slots", options.slots);
  options.threads = told("threads", options.threads);
  options.blocks = told("blocks", options.blocks);
  return options;
}

}  // namespace

EngineInfo description() {
  return {.name = "cuda-resident",
          .summary = "an NVIDIA GPU, in a kernel that never stops, for the lowest latency",
          .priority = 4,
          .settings = {{.name = "slots",
                        .least = 1,
                        .most = 144,
                        .summary = "batches in flight of one worker",
                        .tested = {1, 3, 144}},
                       {.name = "threads",
                        .least = 32,
                        .most = kMostThreads,
                        .summary = "for a batch; whole warps of 32",
                        .tested = {32, kMostThreads}},
                       {.name = "blocks",
                        .least = 1,
                        .most = kMostSlots,
                        .summary = "of the GPU at most, one for each slot",
                        .tested = {1}}}};
}

ResidentEngine::ResidentEngine(Backend backend, ResidentOptions options)
    : backend_(std::move(backend)), cpu_(cuda::create_cpu_engine()), queues_(backend_.nodes.size()) {
  for (unsigned i = 0; i < backend_.nodes.size(); ++i) {
    threads_.push_back(std::make_unique<ResidentThread>(backend_, i, options));
  }
}

ResidentEngine::ResidentEngine(Backend backend, const EngineSettings& settings)
    : ResidentEngine(std::move(backend), options_of(settings)) {}

void ResidentEngine::use_table(Table& table) {
  for (const auto& thread : threads_) thread->add(table);
}

std::shared_ptr<void> ResidentEngine::register_memory(const std::shared_ptr<const HugeMemory>& memory) {
  return offload::register_with(threads_, memory);
}

std::unique_ptr<EngineQueue> ResidentEngine::open_queue_for(unsigned core) {
  for (const auto& thread : threads_) thread->keep_off(core);
  return open_queue_near(node_of_core(core));
}

std::unique_ptr<EngineQueue> ResidentEngine::open_queue_near(int node) {
  const std::size_t gpu = cuda::nearest(backend_.nodes, queues_, node);
  ResidentThread& thread = *threads_[gpu];
  thread.start();
  auto queue = std::make_unique<ResidentQueue>(thread, thread.add_row(), *cpu_, cpu_->open_queue());
  ++queues_[gpu];
  return queue;
}

std::vector<std::string> ResidentEngine::notes() const {
  if (threads_.size() == 1) return threads_.front()->notes();
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (queues_[i] == 0) continue;
    for (const std::string& line : threads_[i]->notes()) lines.push_back("GPU " + std::to_string(i) + ": " + line);
  }
  return lines;
}

std::string ResidentEngine::calibration_key() const {
  return cuda::first_device_name(threads_);
}

}  // namespace penumbra::cuda_resident
