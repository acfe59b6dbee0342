// SPDX-License-Identifier: Apache-2.0
//
// Memory by which batches reach the GPU. Columns that a worker has not shared with the GPU are copied by the worker
// into staging memory. Batches are contiguous there, so that one copy carries several. The launch thread only passes
// addresses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "batch_part.h"
#include "cuda/device.h"
#include "offload/device_owner.h"
#include "offload/payload.h"
#include "offload/wakeup.h"
#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda {

/// Allocates contiguous ranges of a ring of bytes, which are freed in the order of allocation.
class ByteRing {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit ByteRing(std::size_t bytes) : bytes_(bytes) {}

  /// Returns the offset of `bytes` free bytes, at least one, or kNone if there is no room.
  std::size_t take(std::size_t bytes) noexcept {
    if (in_use_ == 0) begin_ = end_ = 0;
    end_before_ = end_;
    in_use_before_ = in_use_;
    const bool wraps = end_ + bytes > bytes_;
    const std::size_t skipped = wraps ? bytes_ - end_ : 0;
    if (in_use_ + skipped + bytes > bytes_) return kNone;
    const std::size_t place = wraps ? 0 : end_;
    end_ = place + bytes;
    in_use_ += skipped + bytes;
    return place;
  }
  /// Frees the oldest range.
  void give_back(std::size_t place, std::size_t bytes) noexcept {
    if (place != begin_) in_use_ -= bytes_ - begin_;  // take() skipped the end of the ring.
    begin_ = place + bytes;
    in_use_ -= bytes;
  }
  /// Reverts the last call, which must have been a successful take().
  void undo() noexcept {
    end_ = end_before_;
    in_use_ = in_use_before_;
  }

 private:
  std::size_t bytes_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t in_use_ = 0;
  std::size_t end_before_ = 0, in_use_before_ = 0;
};

/// Host memory that is registered with the GPU, and device memory of the same size.
using SharedMemory = offload::SharedRange;

/// Bytes of a queue's staging memory in one direction; the first half is for inputs, the second half for outputs.
inline constexpr std::size_t kStagingHalf = std::size_t{1} << 20;

/// Location of the payload of one direction. It lies in memory that the GPU reads or writes over the bus.
struct PayloadPlace {
  SharedMemory* memory = nullptr;  ///< Null if the shader has no such payload.
  std::byte* base = nullptr;       ///< Positions refer to it.
  bool is_staged = false;          ///< True if the payload is in the staging memory, after the staged columns.
};

/// Location of the columns of one direction.
struct Places {
  SharedMemory* memory = nullptr;
  std::byte* staged =
      nullptr;  ///< Staged columns, contiguous and each padded(); null: the columns stay where the batch has them.
};

/// A batch between submit() and poll(), or the part of it from item `first` on.
struct alignas(64) Job {
  enum class State : std::uint8_t {
    on_gpu,  ///< The launch thread owns the job.
    done,    ///< The outputs are in their places.
    on_cpu,  ///< The worker must run it: the GPU is absent or lacks memory or table.
    lost,    ///< The worker must run it: the GPU that had it failed.
  };

  // All fields that the launch thread reads of a short batch are in one cache line, because it comes from another core.
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  Places inputs, outputs;
  std::uint32_t items = 0;
  bool is_hurried = false;  ///< A launch with this job does not wait for more jobs.
  bool is_last = false;     ///< Last part of its batch.
  std::atomic<State> state{State::done};
  offload::Wakeup* wakeup = nullptr;  ///< Null unless a service waits on the queue.

  alignas(64) Batch* batch = nullptr;
  std::uint32_t first = 0;
  std::size_t staged_inputs = 0, staged_outputs = 0;  ///< Bytes in the staging memory, with staged payload.
  std::size_t staged_payload = 0;                     ///< Bytes of both sides.
  PayloadPlace source, destination;
};

/// Calls `use` with each column of one direction: its index, address and bytes.
template <class Use>
void for_each_column(const Job& job, Places Job::* direction, std::vector<std::size_t> Shader::* element_bytes,
                     const Use& use) {
  const auto& bytes = job.shader->*element_bytes;
  std::byte* next = (job.*direction).staged;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::byte* column = next;
    if (next != nullptr) {
      next += padded(bytes[i] * job.items);
    } else if (direction == &Job::inputs) {
      column =
          const_cast<std::byte*>(item_of(job.batch->inputs[i], job.first, bytes[i]));  // Copies from it need no const.
    } else {
      column = item_of(job.batch->outputs[i], job.first, bytes[i]);
    }
    use(i, column, bytes[i] * job.items);
  }
}
/// Returns the bytes of one item.
std::size_t sum_of(const std::vector<std::size_t>& element_bytes) noexcept;
/// Returns the bytes of the columns in the staging memory; at least one cache line.
std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept;
/// Copies the batch's inputs and its source to the staging memory, if they are staged.
void copy_inputs(const Job& job) noexcept;
/// Copies the staged outputs and the staged destination to the batch, if they are staged.
void copy_outputs(const Job& job) noexcept;

}  // namespace penumbra::cuda
