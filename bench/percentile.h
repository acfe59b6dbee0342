// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace penumbra::bench {

/// Returns the percentile by nearest rank. The result is the least sample for which at least the share `part` (0 to 1)
/// of all samples is not above it. Reorders the samples. Throws std::invalid_argument if there are none.
template <class Sample>
Sample percentile(std::vector<Sample>& samples, double part) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(samples.size())));
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

}  // namespace penumbra::bench
