// SPDX-License-Identifier: Apache-2.0
#include "gopt/width_choice.h"

#include <algorithm>
#include <numeric>

namespace penumbra::gopt {

bool WidthChoice::recall(std::uint64_t width) noexcept {
  const auto* const found = std::ranges::find(kWidths, width);
  if (found == kWidths.end()) return false;
  chosen_ = static_cast<std::size_t>(found - kWidths.begin());
  left_ = static_cast<std::uint64_t>(kTimesBetween * kSamples * kSampleItems * kWidths.size());
  return true;
}

bool WidthChoice::measured(std::uint64_t ticks, std::uint32_t items) noexcept {
  ticks_ += ticks;
  items_ += items;
  trial_items_ += items;
  if (items_ < kSampleItems) return false;
  samples_[at_ % kWidths.size()][at_ / kWidths.size()] = static_cast<float>(ticks_) / static_cast<float>(items_);
  ticks_ = 0;
  items_ = 0;
  if (++at_ < kSamples * kWidths.size()) return false;
  at_ = 0;
  std::array<double, kWidths.size()> medians{};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    std::nth_element(samples_[i].begin(), samples_[i].begin() + kSamples / 2, samples_[i].end());
    medians[i] = samples_[i][kSamples / 2];
  }
  const auto best = static_cast<std::size_t>(std::ranges::min_element(medians) - medians.begin());
  if (medians[best] < kGain * std::min(medians[0], medians[chosen_])) {
    chosen_ = best;
  } else if (medians[0] * kGain < medians[chosen_]) {
    chosen_ = 0;
  }
  cost_ = medians[chosen_];
  plain_cost_ = medians[0];
  const double mean = std::accumulate(medians.begin(), medians.end(), 0.0) / kWidths.size();
  left_ =
      static_cast<std::uint64_t>(kTimesBetween * static_cast<double>(trial_items_) * (cost_ > 0 ? mean / cost_ : 1));
  trial_items_ = 0;
  return true;
}

}  // namespace penumbra::gopt
