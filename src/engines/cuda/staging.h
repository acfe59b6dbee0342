// SPDX-License-Identifier: Apache-2.0
//
// The memory by which batches reach the GPU. What a worker has not shared with it is copied through staging memory, by
// the worker, where batches stand one behind the other, so that one copy brings several. The launch_thread only names
// places.
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
#include "penumbra/batch.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda {

/// Places of a ring of bytes, given and taken back in order, each in one piece.
class ByteRing {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit ByteRing(std::size_t bytes) : bytes_(bytes) {}

  /// Where so many bytes begin, at least one, or kNone while there is no room.
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
  /// Takes back the oldest place.
  void give_back(std::size_t place, std::size_t bytes) noexcept {
    if (place != begin_) in_use_ -= bytes_ - begin_;  // it was skipped
    begin_ = place + bytes;
    in_use_ -= bytes;
  }
  /// Takes back the place that the last call gave, which was take().
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

/// Host memory that the GPU shares, and as much of its own beside it.
struct SharedMemory {
  SharedMemory(std::shared_ptr<const HugeMemory> memory, bool needed) : host(std::move(memory)), is_needed(needed) {}

  const std::shared_ptr<const HugeMemory> host;
  const bool is_needed;                 ///< the GPU is of no use without it
  std::atomic<bool> is_reached{false};  ///< by the GPU

  // The launch_thread's.
  std::byte* mapped = nullptr;  ///< `host` as the device sees it
  std::byte* device = nullptr;  ///< the device's own
  unsigned users = 1;           ///< queues

  /// Whether these bytes lie in it.
  bool has(const std::byte* begin, std::size_t bytes) const {
    return begin >= host->data() && begin + bytes <= host->data() + host->bytes();
  }
  /// What the device works on in place of this byte of the host's: its own copy of it, or the byte itself.
  std::byte* seen(const std::byte* byte, bool itself) const {
    return (itself ? mapped : device) + (byte - host->data());
  }
};

/// The memory of one queue's batches: the first half for inputs, the other one for outputs.
inline constexpr std::size_t kStagingHalf = std::size_t{1} << 20;

/// Where the columns of one direction stand.
struct Places {
  SharedMemory* memory = nullptr;
  std::byte* staged = nullptr;  ///< one behind the other from here on, each padded(); null: where the batch has them
};

/// A batch between submit() and poll(), or a piece of it: items from `first` on.
struct alignas(64) Job {
  enum class State : std::uint8_t {
    on_gpu,  ///< the launch_thread's
    done,    ///< the outputs stand in their places
    on_cpu,  ///< the worker runs it itself: the GPU is not there, or has not what it needs
    lost,    ///< likewise: the GPU was lost that had it
  };

  // All that the launch_thread reads of a short batch, in one line: it comes from another core.
  const Shader* shader = nullptr;
  const Table* table = nullptr;
  Places inputs, outputs;
  std::uint32_t items = 0;
  bool is_hurried = false;  ///< a launch with it does not wait for more
  bool is_last = false;     ///< of its batch
  std::atomic<State> state{State::done};

  alignas(64) Batch* batch = nullptr;
  std::uint32_t first = 0;
  std::size_t staged_inputs = 0, staged_outputs = 0;  ///< bytes
};

/// Calls `use` with each column of one direction: its number, where it begins, and its bytes.
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
      column = const_cast<std::byte*>(item_of(job.batch->inputs[i], job.first, bytes[i]));  // for copies from it
    } else {
      column = item_of(job.batch->outputs[i], job.first, bytes[i]);
    }
    use(i, column, bytes[i] * job.items);
  }
}
/// Of one item.
std::size_t sum_of(const std::vector<std::size_t>& element_bytes) noexcept;
/// Bytes of columns in the staging memory; at least one line of it.
std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept;
/// Copies what the batch has to the staging memory, if the columns' places are there.
void copy_inputs(const Job& job) noexcept;
/// And back.
void copy_outputs(const Job& job) noexcept;

}  // namespace penumbra::cuda
