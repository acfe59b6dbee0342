// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace penumbra {

/// Returns the chi-square of `count` hashes over the buckets, in standard deviations from the expected value.
inline double chi_square_deviation(std::size_t buckets, std::size_t count,
                                   const std::function<std::size_t(std::size_t)>& bucket) {
  std::vector<std::size_t> counts(buckets);
  for (std::size_t i = 0; i < count; ++i) ++counts.at(bucket(i));
  const double expected = static_cast<double>(count) / static_cast<double>(buckets);
  double chi_square = 0;
  for (const std::size_t found : counts) {
    const double difference = static_cast<double>(found) - expected;
    chi_square += difference * difference / expected;
  }
  const auto freedom = static_cast<double>(buckets - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

}  // namespace penumbra
