// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace penumbra::bench {

/// By the nearest rank: the least sample that `part` (0 to 1) of all are not above. Reorders them. Throws
/// std::invalid_argument without a sample.
template <class Sample>
Sample percentile(std::vector<Sample>& samples, double part) {
  if (samples.empty()) throw std::invalid_argument("no samples");
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(samples.size())));
  const auto place = samples.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
  std::nth_element(samples.begin(), place, samples.end());
  return *place;
}

}  // namespace penumbra::bench
