// SPDX-License-Identifier: Apache-2.0
#include "gopt/width_choice.h"

#include <algorithm>

namespace penumbra::gopt {

bool WidthChoice::measured(std::uint64_t ticks, std::uint32_t items) noexcept {
  samples_[at_ % kWidths.size()][at_ / kWidths.size()] = static_cast<float>(ticks) / static_cast<float>(items);
  if (++at_ < kSamples * kWidths.size()) return false;
  at_ = 0;
  left_ = kBatchesBetween;
  std::array<double, kWidths.size()> medians{};
  for (std::size_t i = 0; i < kWidths.size(); ++i) {
    std::nth_element(samples_[i].begin(), samples_[i].begin() + kSamples / 2, samples_[i].end());
    medians[i] = samples_[i][kSamples / 2];
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < kWidths.size(); ++i) {
    if (medians[i] < kGain * medians[best]) best = i;
  }
  chosen_ = best;
  cost_ = medians[best];
  plain_cost_ = medians[0];
  return true;
}

}  // namespace penumbra::gopt
