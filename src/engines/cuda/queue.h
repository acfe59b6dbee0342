// SPDX-License-Identifier: Apache-2.0
//
// A worker's queue into the GPU. The queue hands the columns of a batch to the launch thread, and returns batches in
// the order of submission. Large columns in memory that the caller shared stay in place; others are copied through the
// staging memory. A large batch is cut into parts, so that its copies in, kernels and copies out overlap, and a batch
// may have any size. The worker runs a batch on the CPU if the GPU is absent or has failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cuda/launch_thread.h"
#include "cuda/staging.h"
#include "offload/shared_list.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

class CudaQueue final : public EngineQueue {
 public:
  /// Most bytes of a part of a batch in one direction.
  static constexpr std::size_t kPiece = kStagingHalf / 4;
  /// Shorter columns are copied through the staging memory even if they are shared. One copy then carries the columns
  /// of many batches, which costs less than a copy per batch.
  static constexpr std::size_t kLeastInPlace = std::size_t{32} << 10;

  /// `cpu` must be a synchronous engine.
  CudaQueue(LaunchThread& launch_thread, const Engine& cpu, std::unique_ptr<EngineQueue> cpu_queue);
  /// Waits for the batches in flight.
  ~CudaQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  int wake_descriptor() override;
  void share(std::shared_ptr<const HugeMemory> memory) override;
  void unshare(const HugeMemory& memory) override;

 private:
  static constexpr std::size_t kJobs = 256;

  /// A batch that is being cut into parts; the next part starts at item `next`.
  struct Cut {
    Batch* batch = nullptr;  ///< Null: no batch is being cut.
    std::uint32_t next = 0;
    std::uint32_t most_items = 0;  ///< Most items of a part.
    SharedMemory* inputs = nullptr;
    SharedMemory* outputs = nullptr;  ///< Shared memory that holds the columns in place; null if they are staged.
    SharedMemory* source = nullptr;
    SharedMemory* destination = nullptr;  ///< Shared memory that holds the payload in place; null if it is staged.
  };

  Job& at(std::size_t position) { return jobs_[position % kJobs]; }
  void begin_cut(Batch& batch) noexcept;
  bool cut_all() noexcept;
  bool cut_piece() noexcept;
  bool place(Job& job) noexcept;
  std::uint32_t items_of_piece() const noexcept;
  void take_places_back(Job& job) noexcept;
  void run_on_cpu(Batch& batch) noexcept;

  LaunchThread& launch_thread_;
  const Engine& cpu_;
  const std::unique_ptr<EngineQueue> cpu_queue_;
  const std::shared_ptr<SharedMemory> staging_;
  offload::SharedList shared_;
  ByteRing inputs_{kStagingHalf}, outputs_{kStagingHalf};
  std::unique_ptr<offload::Wakeup> wakeup_;  ///< Null before the first wake_descriptor().
  std::array<Job, kJobs> jobs_;
  std::size_t head_ = 0,
              tail_ = 0;  ///< Position of the oldest job, and the position after the youngest; both only grow.
  Cut cut_;
  bool is_given_up_ = false;  ///< True if a part of the oldest batch came back because of a device failure.
};

}  // namespace penumbra::cuda
