// SPDX-License-Identifier: Apache-2.0
//
// How many items take turns: the cheapest width depends on the shader, the table's size, the batches' length, the
// traffic's locality and the machine. The engine measures it on the batches that come anyhow.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace penumbra::gopt {

/// Batches of about one length: class c holds those of more than 2^(c-1) and up to 2^c items, the last class all longer
/// ones.
inline constexpr std::size_t kLengthClasses = 13;

constexpr std::size_t length_class(std::uint32_t items) noexcept {
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(items - 1)), kLengthClasses - 1);
}
/// The most items of a batch in a class that has a limit.
constexpr std::uint32_t longest_of(std::size_t length_class) noexcept {
  return std::uint32_t{1} << length_class;
}

/// The width for one shader, one table, one worker and one class of batch lengths.
///
/// A trial measures the widths by turns on real batches, drops those that are clearly worse, and goes on with the
/// others. A sample is some batches in a row at one width. The first batches after a change of width count for nothing:
/// the branch predictor and the first-level caches are still those of the width before. Costs are ticks of a clock that
/// does not wait for what the core has begun.
class WidthChoice {
 public:
  static constexpr std::array<std::uint32_t, 8> kWidths{1, 4, 8, 12, 16, 24, 32, 64};
  static constexpr std::uint32_t kRounds = 21;            ///< samples of a width that is not dropped
  static constexpr std::uint32_t kSampleItems = 2048;     ///< at least, unless kSampleTicks have passed
  static constexpr std::uint64_t kSampleTicks = 150'000;  ///< some tens of microseconds
  static constexpr std::uint32_t kWarmItems = 256;        ///< unmeasured, before a sample of shorter batches than kLong
  static constexpr std::uint32_t kLong = 1024;
  /// How many times as long as a trial takes it is until the next one: less after the first trials, which may have met
  /// cold caches and a table that is still growing.
  static constexpr double kFirstPause = 16, kLongestPause = 300;
  /// What is cheaper by less than this factor does not replace the present width, nor width 1.
  static constexpr double kGain = 0.99;
  static constexpr double kGainOfSingleItems = 0.8;  ///< the clock is too coarse for less

  /// For class `length_class`: widths far beyond the length are left out. A single item has two forms, width 1 and 4:
  /// a plain loop for AVX-512 may be the slower one.
  explicit WidthChoice(std::size_t length_class = kLengthClasses - 1) noexcept;

  /// Whether the next batch belongs to a trial.
  bool is_trial() const noexcept { return left_ == 0; }
  /// So many items went by outside a trial.
  void passed(std::uint64_t items) noexcept { left_ -= std::min(left_, items); }
  /// Items until the next trial, outside a trial.
  std::uint64_t left() const noexcept { return left_; }
  /// The width for a batch of a trial, and for one outside a trial.
  std::uint32_t tried() const noexcept { return kWidths[active_[turn()]]; }
  std::uint32_t chosen() const noexcept { return kWidths[chosen_]; }
  /// Counts a batch of the trial at width tried(), which took `ticks`. Returns whether the trial is over; chosen() may
  /// have changed then.
  bool measured(std::uint64_t ticks, std::uint32_t items) noexcept;

  /// Starts with a width of an earlier run, and with a pause. False, without effect, if `width` is none of kWidths.
  bool load_calibrations(double width) noexcept;
  /// Lets the next batch begin a trial, because the table has become another one; pauses are short again.
  void restart() noexcept;

  /// Ticks an item at the chosen width and at width 1, in the last trial; 0 before it.
  double cost() const noexcept { return cost_; }
  double plain_cost() const noexcept { return plain_cost_; }

 private:
  /// Rounds go to and fro, so that no width always follows the same one.
  std::size_t turn() const noexcept { return round_ % 2 == 0 ? position_ : running_ - 1 - position_; }
  /// Costs of the active widths, each sample's relative to the least of its round, so that a slow round distorts
  /// nothing.
  void compare(std::array<double, kWidths.size()>& relative) const noexcept;
  void drop_beyond(double factor) noexcept;
  void decide() noexcept;
  void begin() noexcept;

  std::array<std::array<float, kRounds>, kWidths.size()> samples_{};  ///< by width and round
  std::array<std::uint8_t, kWidths.size()> active_{};                 ///< widths that take part, by their index
  std::uint8_t widths_ = 0;                                           ///< that begin a trial
  std::uint8_t running_ = 0;                                          ///< of active_, those not dropped
  std::uint32_t round_ = 0;
  std::size_t position_ = 0;
  std::uint32_t warmed_ = 0;  ///< items since the width changed
  std::uint64_t ticks_ = 0;   ///< of this sample so far
  std::uint32_t items_ = 0;
  std::uint64_t trial_ticks_ = 0;
  std::uint64_t left_ = 0;  ///< items until the next trial
  double pause_ = kFirstPause;
  double gain_ = kGain;
  std::size_t chosen_ = 0;
  double cost_ = 0, plain_cost_ = 0;
};

}  // namespace penumbra::gopt
