// SPDX-License-Identifier: Apache-2.0
//
// The free slots of a row. A worker with few batches in flight reuses few slots. The groups of all other slots then
// come to rest and leave the bus alone.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace penumbra::cuda_resident {

class FreeSlots {
 public:
  /// Number of freed slots that are set aside before reuse, as far as slots last. The delay lets the slot's cache lines
  /// arrive, which are prefetched when the slot is freed.
  static constexpr std::uint32_t kAside = 4;

  /// All slots below `count` are free.
  explicit FreeSlots(std::uint32_t count) : resting_(count), resting_count_(count) {
    std::iota(resting_.rbegin(), resting_.rend(), 0);
  }

  /// Takes a free slot; there must be one.
  std::uint32_t take() noexcept {
    if (aside_count_ == kAside || resting_count_ == 0) return take_oldest();
    return resting_[--resting_count_];
  }
  /// Frees a slot that was taken.
  void give_back(std::uint32_t slot) noexcept {
    if (aside_count_ == kAside) resting_[resting_count_++] = take_oldest();
    aside_[(oldest_ + aside_count_++) % kAside] = slot;
  }

 private:
  std::uint32_t take_oldest() noexcept {
    --aside_count_;
    return aside_[std::exchange(oldest_, (oldest_ + 1) % kAside)];
  }

  std::array<std::uint32_t, kAside> aside_{};  ///< A ring.
  std::uint32_t oldest_ = 0, aside_count_ = 0;
  std::vector<std::uint32_t> resting_;  ///< A stack.
  std::uint32_t resting_count_;
};

}  // namespace penumbra::cuda_resident
