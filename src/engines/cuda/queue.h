// SPDX-License-Identifier: Apache-2.0
//
// A worker's way to the GPU: it copies a batch's columns to where the GPU finds them, hands the batch to the master,
// and copies the results back when they stand there, in the order of submission. What the GPU does not do, because it
// is not there, or was lost meanwhile, or because the batch is too large for the staging memory, runs here on the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "cuda/master.h"
#include "cuda/staging.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

class CudaQueue final : public EngineQueue {
 public:
  /// `cpu` answers every batch at once.
  CudaQueue(Master& master, const Engine& cpu, std::unique_ptr<EngineQueue> cpu_queue);
  /// Waits for what is in flight.
  ~CudaQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;

 private:
  static constexpr std::size_t kJobs = 256;

  Job& at(std::size_t position) { return jobs_[position % kJobs]; }
  /// Finds places for the batch in the staging memory; false if there are none now.
  bool place(Job& job) noexcept;
  void take_places_back(Job& job) noexcept;
  void run_on_cpu(Batch& batch) noexcept;

  Master& master_;
  const Engine& cpu_;
  const std::unique_ptr<EngineQueue> cpu_queue_;
  const std::shared_ptr<Staging> staging_ = std::make_shared<Staging>();
  ByteRing inputs_{Staging::kHalf}, outputs_{Staging::kHalf};
  std::array<Job, kJobs> jobs_;
  std::size_t head_ = 0, tail_ = 0;  ///< the oldest job and behind the youngest; these count on for ever
};

}  // namespace penumbra::cuda
