// SPDX-License-Identifier: Apache-2.0
//
// Chooses how many items take turns. The cheapest width depends on the shader, the table's size, the batch length, the
// locality of traffic and the machine. The engine measures it on the batches of the traffic.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penumbra::gopt {

/// Number of length classes. Class c holds batches of more than 2^(c-1) and up to 2^c items; the last class holds all
/// longer batches.
inline constexpr std::size_t kLengthClasses = 13;

constexpr std::size_t length_class(std::uint32_t items) noexcept {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(items - 1)), kLengthClasses - 1);
}
/// Returns the largest batch length of a class that has a limit.
constexpr std::uint32_t longest_of(std::size_t length_class) noexcept {
  return std::uint32_t{1} << length_class;
}

/// Chooses the width for one shader, one table, one worker and one length class.
///
/// A trial measures the widths in turn on real batches, drops those that are clearly worse, and continues with the
/// rest. A sample is a run of batches at one width. The first batches after a change of width are not measured, because
/// branch predictor and first-level caches still fit the width before. Costs are ticks of a clock that does not wait
/// for instructions in progress.
class WidthChoice {
 public:
  static constexpr std::array<std::uint32_t, 8> kWidths{1, 4, 8, 12, 16, 24, 32, 64};
  static constexpr std::uint32_t kRounds = 21;            ///< Samples of each width that is not dropped.
  static constexpr std::uint32_t kSampleItems = 2048;     ///< Least items of a sample, unless kSampleTicks have passed.
  static constexpr std::uint64_t kSampleTicks = 150'000;  ///< Some tens of microseconds.
  static constexpr std::uint32_t kWarmItems =
      256;  ///< Unmeasured items before a sample, for batches shorter than kLong.
  static constexpr std::uint32_t kLong = 1024;
  /// Pause after a trial, in multiples of the trial's duration. The pause is shorter after the first trials, which may
  /// have met cold caches and a table that still grows.
  static constexpr double kFirstPause = 16, kLongestPause = 300;
  /// A width replaces the present width, or width 1, only if its cost is below this factor.
  static constexpr double kGain = 0.99;
  static constexpr double kGainOfSingleItems =
      0.8;  ///< For single items, because the clock is too coarse for smaller gains.

  /// Chooses for class `length_class`, without widths far above the length. A single item is tried at widths 1 and 4,
  /// because a plain AVX-512 loop may be the slower form.
  explicit WidthChoice(std::size_t length_class = kLengthClasses - 1) noexcept;

  /// True if the next batch belongs to a trial.
  bool is_trial() const noexcept { return left_ == 0; }
  /// Counts `items` items that ran outside a trial.
  void passed(std::uint64_t items) noexcept { left_ -= std::min(left_, items); }
  /// Returns the items until the next trial. Call outside a trial only.
  std::uint64_t left() const noexcept { return left_; }
  /// Returns the width for a batch of a trial (`tried`) and for one outside a trial (`chosen`).
  std::uint32_t tried() const noexcept { return kWidths[active_[turn()]]; }
  std::uint32_t chosen() const noexcept { return kWidths[chosen_]; }
  /// Records that a batch of the trial took `ticks` at width tried(). Returns true if the trial is over; chosen() may
  /// then have changed.
  bool measured(std::uint64_t ticks, std::uint32_t items) noexcept;

  /// Starts with a width of an earlier run, and with a pause. Returns false, without effect, if `width` is not in
  /// kWidths.
  bool load_calibrations(double width) noexcept;
  /// Makes the next batch begin a trial because the table's size class has changed, and makes pauses short again.
  void restart() noexcept;

  /// Returns the ticks per item at the chosen width (`cost`) and at width 1 (`plain_cost`) in the last trial; 0 before
  /// the first.
  double cost() const noexcept { return cost_; }
  double plain_cost() const noexcept { return plain_cost_; }

 private:
  /// Returns the index of the width to measure. The order alternates between rounds, so that no width always follows
  /// the same one.
  std::size_t turn() const noexcept { return round_ % 2 == 0 ? position_ : running_ - 1 - position_; }
  /// Computes the cost of each active width, each sample relative to the least of its round, so that a slow round
  /// distorts no result.
  void compare(std::array<double, kWidths.size()>& relative) const noexcept;
  void drop_beyond(double factor) noexcept;
  void decide() noexcept;
  void begin() noexcept;

  std::array<std::array<float, kRounds>, kWidths.size()> samples_{};  ///< By width and round.
  std::array<std::uint8_t, kWidths.size()> active_{};                 ///< Indices of the widths in the trial.
  std::uint8_t widths_ = 0;                                           ///< Number of widths at the start of a trial.
  std::uint8_t running_ = 0;  ///< Number of widths in active_ that are not dropped.
  std::uint32_t round_ = 0;
  std::size_t position_ = 0;
  std::uint32_t warmed_ = 0;  ///< Items since the last change of width.
  std::uint64_t ticks_ = 0;   ///< Ticks of the current sample.
  std::uint32_t items_ = 0;
  std::uint64_t trial_ticks_ = 0;
  std::uint64_t left_ = 0;  ///< Items until the next trial.
  double pause_ = kFirstPause;
  double gain_ = kGain;
  std::size_t chosen_ = 0;
  double cost_ = 0, plain_cost_ = 0;
};

}  // namespace penumbra::gopt
