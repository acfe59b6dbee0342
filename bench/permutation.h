// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/random.h"

namespace penumbra::bench {

/// A permutation of the numbers below 2^bits without a pattern for a prefetcher. A function that is no permutation
/// would not do: its long chains meet in a small part of the table. Also for GPUs.
class Permutation {
 public:
  Permutation(unsigned bits, std::uint64_t seed)
      : mask_((std::uint64_t{1} << bits) - 1), shift_(bits / 2 + 1), factor_(Random::mixed(seed) | 1) {}
  constexpr std::uint32_t operator()(std::uint32_t number) const {
    std::uint64_t x = number;
    for (int round = 0; round < 3; ++round) {
      x = (x * factor_ + 0x5851F42D4C957F2DU) & mask_;
      x ^= x >> shift_;
    }
    return static_cast<std::uint32_t>(x);
  }
  /// Returns the end of a chain of `steps` steps.
  constexpr std::uint32_t follow(std::uint32_t number, std::uint32_t steps) const {
    for (std::uint32_t step = 0; step < steps; ++step) number = (*this)(number);
    return number;
  }

 private:
  std::uint64_t mask_;
  unsigned shift_;
  std::uint64_t factor_;
};

}  // namespace penumbra::bench
