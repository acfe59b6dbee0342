// SPDX-License-Identifier: Apache-2.0
//
// The slots of a row that hold no batch. A worker with few batches in flight uses few slots again and again, so that
// the groups of all others come to rest and leave the bus alone.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace penumbra::cuda_resident {

class FreeSlots {
 public:
  /// Slots that lie aside between being given back and being taken again, if there are as many: time enough for the
  /// lines of a slot to come, which are asked for when it is given back.
  static constexpr std::uint32_t kAside = 4;

  /// The slots below `count`.
  explicit FreeSlots(std::uint32_t count) : resting_(count), resting_count_(count) {
    std::iota(resting_.rbegin(), resting_.rend(), 0);
  }

  /// There is one.
  std::uint32_t take() noexcept {
    if (aside_count_ == kAside || resting_count_ == 0) return take_oldest();
    return resting_[--resting_count_];
  }
  /// One that was taken.
  void give_back(std::uint32_t slot) noexcept {
    if (aside_count_ == kAside) resting_[resting_count_++] = take_oldest();
    aside_[(oldest_ + aside_count_++) % kAside] = slot;
  }

 private:
  std::uint32_t take_oldest() noexcept {
    --aside_count_;
    return aside_[std::exchange(oldest_, (oldest_ + 1) % kAside)];
  }

  std::array<std::uint32_t, kAside> aside_{};  ///< a ring
  std::uint32_t oldest_ = 0, aside_count_ = 0;
  std::vector<std::uint32_t> resting_;  ///< the last one is taken first
  std::uint32_t resting_count_;
};

}  // namespace penumbra::cuda_resident
