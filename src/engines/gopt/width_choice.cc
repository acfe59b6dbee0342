// SPDX-License-Identifier: Apache-2.0
#include "gopt/width_choice.h"

#include <algorithm>
#include <span>

namespace penumbra::gopt {
namespace {

/// After `rounds` rounds, widths are dropped whose cost exceeds the least cost by more than `factor`.
struct Cut {
  std::uint32_t rounds;
  double factor;
};
constexpr std::array<Cut, 3> kCuts{{{3, 1.3}, {6, 1.12}, {11, 1.05}}};
constexpr double kPauseGrows = 4;  ///< Growth of the pause from one trial to the next.

/// Returns the lower quartile. Disturbances only lengthen a measurement, so the quartile is more robust than the
/// median.
double lower_quartile(std::span<double> values) {
  const auto quartile = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), quartile, values.end());
  return *quartile;
}

}  // namespace

WidthChoice::WidthChoice(std::size_t length_class) noexcept {
  const bool is_last = length_class == kLengthClasses - 1;
  if (length_class == 0) gain_ = kGainOfSingleItems;
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    const bool is_wider_than_needed = i > 1 && !is_last && kWidths[i - 1] >= longest_of(length_class);
    if (!is_wider_than_needed) ++widths_;
  }
  begin();
}

void WidthChoice::begin() noexcept {
  for (std::size_t i = 0; i < kWidths.size(); ++i) active_[i] = static_cast<std::uint8_t>(i);
  running_ = widths_;
  round_ = 0;
  position_ = 0;
  warmed_ = 0;
  ticks_ = 0;
  items_ = 0;
  trial_ticks_ = 0;
}

bool WidthChoice::load_calibrations(double width) noexcept {
  const auto* const found = std::ranges::find_if(kWidths, [width](std::uint32_t each) { return width == each; });
  const auto index = static_cast<std::size_t>(found - kWidths.begin());
  if (index >= widths_) return false;
  chosen_ = index;
  left_ = static_cast<std::uint64_t>(kLongestPause * kRounds * kSampleItems);
  pause_ = kLongestPause;
  return true;
}

void WidthChoice::restart() noexcept {
  begin();
  left_ = 0;
  pause_ = kFirstPause;
}

bool WidthChoice::measured(std::uint64_t ticks, std::uint32_t items) noexcept {
  trial_ticks_ += ticks;
  if (warmed_ < kWarmItems && items < kLong) {
    warmed_ += items;
    return false;
  }
  ticks_ += ticks;
  items_ += items;
  if (items_ < kSampleItems && ticks_ < kSampleTicks) return false;
  samples_[active_[turn()]][round_] = static_cast<float>(ticks_) / static_cast<float>(items_);
  warmed_ = 0;
  ticks_ = 0;
  items_ = 0;
  if (++position_ < running_) return false;
  position_ = 0;
  ++round_;
  for (const Cut& cut : kCuts) {
    if (round_ == cut.rounds) drop_beyond(std::max(cut.factor, 1 / gain_));
  }
  if (running_ > 1 && round_ < kRounds) return false;
  decide();
  return true;
}

void WidthChoice::compare(std::array<double, kWidths.size()>& relative) const noexcept {
  std::array<std::array<double, kRounds>, kWidths.size()> ratios;
  for (std::uint32_t round = 0; round < round_; ++round) {
    double least = samples_[active_[0]][round];
    for (std::size_t i = 1; i < running_; ++i) least = std::min<double>(least, samples_[active_[i]][round]);
    least = std::max(least, 1e-9);
    for (std::size_t i = 0; i < running_; ++i) ratios[i][round] = samples_[active_[i]][round] / least;
  }
  for (std::size_t i = 0; i < running_; ++i) relative[i] = lower_quartile(std::span(ratios[i]).first(round_));
}

void WidthChoice::drop_beyond(double factor) noexcept {
  std::array<double, kWidths.size()> relative{};
  compare(relative);
  const double least = *std::min_element(relative.begin(), relative.begin() + running_);
  std::uint8_t kept = 0;
  for (std::size_t i = 0; i < running_; ++i) {
    if (relative[i] <= factor * least) active_[kept++] = active_[i];
  }
  running_ = kept;
}

void WidthChoice::decide() noexcept {
  std::array<double, kWidths.size()> relative{};
  compare(relative);
  const double least = *std::min_element(relative.begin(), relative.begin() + running_);
  std::size_t best = 0;
  // Among widths that cost about as much as the cheapest, prefers width 1, then the present width.
  const auto rank = [this](std::size_t width) { return width == 0 ? 0 : width == chosen_ ? 1 : 2; };
  bool is_found = false;
  for (std::size_t i = 0; i < running_; ++i) {
    const std::size_t width = active_[i];
    if (gain_ * relative[i] > least) continue;
    const bool is_better = !is_found || rank(width) < rank(active_[best]) ||
                           (rank(width) == rank(active_[best]) && relative[i] < relative[best]);
    if (is_better) best = i;
    is_found = true;
  }
  const auto cost_of = [this](std::size_t width, std::uint32_t rounds) {
    std::array<double, kRounds> costs;
    std::copy_n(samples_[width].begin(), rounds, costs.begin());
    return lower_quartile(std::span(costs).first(rounds));
  };
  chosen_ = active_[best];
  cost_ = cost_of(chosen_, round_);
  const bool is_plain_dropped = std::find(active_.begin(), active_.begin() + running_, 0) == active_.begin() + running_;
  plain_cost_ = cost_of(0, is_plain_dropped ? std::min(round_, kCuts.front().rounds) : round_);
  left_ = static_cast<std::uint64_t>(pause_ * static_cast<double>(trial_ticks_) / std::max(cost_, 1e-3)) + 1;
  pause_ = std::min(kPauseGrows * pause_, kLongestPause);
  begin();
}

}  // namespace penumbra::gopt
