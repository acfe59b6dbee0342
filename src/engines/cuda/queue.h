// SPDX-License-Identifier: Apache-2.0
//
// A worker's way to the GPU: it hands a batch's columns to the launch_thread and gets the results, in the order of
// submission. Large columns that lie in memory which the caller shared stay where they are; others are copied through
// the staging memory. A large batch is cut into pieces, so that copies in, kernels and copies out of one batch overlap,
// and batches may be of any size. What the GPU does not do, because it is not there or was lost meanwhile, runs here on
// the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/launch_thread.h"
#include "cuda/staging.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

class CudaQueue final : public EngineQueue {
 public:
  /// What a piece of a batch takes at most in one direction.
  static constexpr std::size_t kPiece = kStagingHalf / 4;
  /// Shorter columns are copied through the staging memory even if they are shared: so one copy brings those of many
  /// batches, which costs less than one each.
  static constexpr std::size_t kLeastInPlace = std::size_t{32} << 10;

  /// `cpu` answers every batch at once.
  CudaQueue(LaunchThread& launch_thread, const Engine& cpu, std::unique_ptr<EngineQueue> cpu_queue);
  /// Waits for what is in flight.
  ~CudaQueue() override;

  Submitted submit(Batch& batch) noexcept override;
  Batch* poll() noexcept override;
  void share(std::shared_ptr<const HugeMemory> memory) override;

 private:
  static constexpr std::size_t kJobs = 256;

  /// A batch that is being cut into pieces, from item `next` on.
  struct Cut {
    Batch* batch = nullptr;  ///< null: none is
    std::uint32_t next = 0;
    std::uint32_t most_items = 0;  ///< of a piece
    SharedMemory* inputs = nullptr;
    SharedMemory* outputs = nullptr;  ///< where its columns are, if they stay there
  };

  Job& at(std::size_t position) { return jobs_[position % kJobs]; }
  void begin_cut(Batch& batch) noexcept;
  bool cut_all() noexcept;
  bool cut_piece() noexcept;
  bool place(Job& job) noexcept;
  void take_places_back(Job& job) noexcept;
  template <class Column>
  SharedMemory* memory_of(const std::array<Column*, kMaxColumns>& columns,
                          const std::vector<std::size_t>& element_bytes, std::uint32_t items) const noexcept;
  void run_on_cpu(Batch& batch) noexcept;

  LaunchThread& launch_thread_;
  const Engine& cpu_;
  const std::unique_ptr<EngineQueue> cpu_queue_;
  const std::shared_ptr<SharedMemory> staging_;
  std::vector<std::shared_ptr<SharedMemory>> shared_;
  ByteRing inputs_{kStagingHalf}, outputs_{kStagingHalf};
  std::array<Job, kJobs> jobs_;
  std::size_t head_ = 0, tail_ = 0;  ///< the oldest job and behind the youngest; these count on for ever
  Cut cut_;
  bool is_given_up_ = false;  ///< of the oldest batch a piece that is back already: the GPU was lost with it
};

}  // namespace penumbra::cuda
