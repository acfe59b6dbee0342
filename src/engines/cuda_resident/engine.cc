// SPDX-License-Identifier: Apache-2.0
#include "cuda_resident/engine.h"

#include <utility>

#include "cuda/cpu_engine.h"
#include "cuda_resident/queue.h"

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
    : cpu_(cuda::create_cpu_engine()), keeper_(std::move(backend), options) {}

ResidentEngine::ResidentEngine(Backend backend, const EngineSettings& settings)
    : ResidentEngine(std::move(backend), options_of(settings)) {}

std::unique_ptr<EngineQueue> ResidentEngine::open_queue_for(unsigned core) {
  keeper_.keep_off(core);
  return open_queue();
}

std::unique_ptr<EngineQueue> ResidentEngine::open_queue() {
  keeper_.start();
  return std::make_unique<ResidentQueue>(keeper_, keeper_.add_row(), *cpu_, cpu_->open_queue());
}

}  // namespace penumbra::cuda_resident
