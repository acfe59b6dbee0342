// SPDX-License-Identifier: Apache-2.0
//
// Memory that a worker and the GPU share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_resident/layout.h"
#include "cuda_resident/resident_tables.h"
#include "offload/device_owner.h"
#include "offload/wakeup.h"
#include "penumbra/huge_memory.h"

namespace penumbra::cuda_resident {

using offload::SharedRange;

/// A worker's slots, and staging memory for the columns of batches that do not fit into a slot. The staging memory has
/// kStaging bytes for inputs, followed by kStaging bytes for outputs.
struct SlotRow {
  static constexpr std::size_t kStaging = std::size_t{1} << 20;

  /// `before_first` is the number before that of each slot's first batch.
  SlotRow(std::uint32_t slots, std::uint32_t before_first)
      : count(slots),
        staging_begin(padded(slots * sizeof(Slot))),
        range(std::make_shared<SharedRange>(std::make_shared<HugeMemory>(staging_begin + 2 * kStaging), true)),
        lines(slots) {
    for (std::uint32_t i = 0; i < count; ++i) {
      this->slots()[i].out[0].number = before_first;
      lines[i].number.store(before_first, std::memory_order_relaxed);
    }
  }

  const std::uint32_t count;
  const std::size_t staging_begin;  ///< Offset in the range.
  const std::shared_ptr<SharedRange> range;
  std::vector<SlotLine> lines;  ///< One per slot.

  /// Generation for which the slots are cleared, see ResidentThread. Written by the worker.
  std::atomic<std::uint32_t> fresh_for{0};
  /// True while the worker submits, see Submitting.
  std::atomic<bool> is_submitting{false};
  /// True if groups read the slots. Written by the resident thread.
  std::atomic<bool> is_served{false};
  /// Slot whose answer a service waits for, or kNone. Set by the worker, reset by the resident thread.
  static constexpr std::uint32_t kNone = ~0U;
  std::atomic<std::uint32_t> awaited{kNone};
  offload::Wakeup wakeup;
  std::atomic<std::uint64_t> by_gpu{0}, by_cpu{0}, given_up{0};  ///< Batches; written by the worker.

  /// Waits until the worker has finished a submission in progress.
  void wait_until_submitted() const noexcept {
    while (is_submitting.load(std::memory_order_acquire)) std::this_thread::yield();
  }
  Slot* slots() const noexcept { return reinterpret_cast<Slot*>(range->host->data()); }
  std::byte* inputs() const noexcept { return range->host->data() + staging_begin; }
  std::byte* outputs() const noexcept { return inputs() + kStaging; }
};

}  // namespace penumbra::cuda_resident
