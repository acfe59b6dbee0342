// SPDX-License-Identifier: Apache-2.0
//
// How many items take turns: what is cheapest depends on the shader, on the table's size, on how local the traffic is,
// and on the machine. So it is measured, on the batches that come anyhow.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace penumbra::gopt {

/// The width for one shader, one table and one worker. It tries every width in turn on real batches, keeps to the
/// cheapest, and tries again after a while, since tables grow and traffic changes. It is told costs in ticks of a
/// clock, one that does not wait for what the core has begun: the end of a batch overlaps the next one, in the plain
/// loop more than elsewhere.
class WidthChoice {
 public:
  static constexpr std::array<std::uint32_t, 8> kWidths{1, 4, 8, 12, 16, 24, 32, 64};
  static constexpr std::uint32_t kSamples = 15;        ///< of each width; the median counts
  static constexpr std::uint32_t kSampleItems = 1024;  ///< at least: batches in a row
  /// As many times as long as a trial takes it is until the next one. In items that is more where other widths take
  /// many times as long as the best.
  static constexpr double kTimesBetween = 300;
  /// Fewer items fill no window, and say nothing of wider ones.
  static constexpr std::uint32_t kLeastItems = 32;
  /// A wider window has to be better by this factor, and another one than before: what is measured is not exact.
  static constexpr double kGain = 0.95;

  /// Whether a batch of so many items is to be measured. To be asked once a batch.
  bool measures(std::uint32_t items) noexcept {
    if (items < kLeastItems) return false;
    if (left_ == 0) return true;
    left_ -= std::min<std::uint64_t>(left_, items);
    return false;
  }
  /// The width for a batch that is measured, and for one that is not.
  std::uint32_t tried() const noexcept { return kWidths[at_ % kWidths.size()]; }
  std::uint32_t chosen() const noexcept { return kWidths[chosen_]; }
  /// What the batch at width tried() took. Whether the trial is over, and chosen() may be another.
  bool measured(std::uint64_t ticks, std::uint32_t items) noexcept;

  /// Begins at what was chosen in an earlier run; the next trial is as far as after a trial. False, and nothing has
  /// changed, if that is none of kWidths.
  bool recall(std::uint64_t width) noexcept;

  /// Ticks an item at the chosen width and at width 1, in the last trial; 0 before it.
  double cost() const noexcept { return cost_; }
  double plain_cost() const noexcept { return plain_cost_; }

 private:
  std::array<std::array<float, kSamples>, kWidths.size()> samples_{};
  std::uint32_t at_ = 0;     ///< the measurement of this trial
  std::uint64_t ticks_ = 0;  ///< of it so far
  std::uint32_t items_ = 0;
  std::uint64_t trial_items_ = 0;
  std::uint64_t left_ = 0;  ///< items until the next trial
  std::size_t chosen_ = 0;
  double cost_ = 0, plain_cost_ = 0;
};

}  // namespace penumbra::gopt
