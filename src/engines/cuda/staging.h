// SPDX-License-Identifier: Apache-2.0
//
// The memory by which one queue's batches reach the GPU. The worker copies columns in and results out; the master only
// names the places. Batches stand one behind the other, so that one copy brings several.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

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

/// The memory of one queue: the first half for inputs, the other one for outputs.
struct Staging {
  static constexpr std::size_t kHalf = std::size_t{1} << 20;

  HugeMemory host{2 * kHalf};
  std::byte* shared = nullptr;  ///< `host` as the device sees it
  std::byte* device = nullptr;  ///< as large, the device's own; null if it works on `shared`

  std::byte* inputs() const { return host.data(); }
  std::byte* outputs() const { return host.data() + kHalf; }
  /// What the device works on in place of this byte of the host's.
  std::byte* seen(std::byte* byte) const { return (device != nullptr ? device : shared) + (byte - host.data()); }
};

/// A batch between submit() and poll().
struct Job {
  enum class State : std::uint8_t {
    on_gpu,  ///< the master's
    done,    ///< the outputs stand in the staging memory
    on_cpu,  ///< the worker runs it itself
  };

  Batch* batch = nullptr;
  Staging* staging = nullptr;
  std::byte* inputs = nullptr;  ///< in the staging memory, like the outputs
  std::byte* outputs = nullptr;
  std::size_t input_bytes = 0, output_bytes = 0;  ///< padded
  std::atomic<State> state{State::done};
};

/// Bytes of a batch's columns in the staging memory; at least one line of it.
std::size_t staged_bytes(const std::vector<std::size_t>& element_bytes, std::uint32_t items) noexcept;
/// Copies the batch's columns to where the job says.
void stage_inputs(const Job& job) noexcept;
/// Copies what stands there to the batch's columns.
void unstage_outputs(const Job& job) noexcept;

}  // namespace penumbra::cuda
