// SPDX-License-Identifier: Apache-2.0
//
// The steps of a hash that can be undone.
#pragma once

#include <concepts>
#include <limits>

namespace penumbra {

/// The number y with y ^ (y >> shift) == x; shift is at least 1.
template <std::unsigned_integral Number>
constexpr Number unshifted(Number x, unsigned shift) {
  Number y = x;
  for (unsigned known = shift; known < std::numeric_limits<Number>::digits; known += shift) y = x ^ (y >> shift);
  return y;
}

/// The number by which a product with the odd `factor` becomes what it was, modulo any power of two.
template <std::unsigned_integral Number>
constexpr Number inverse(Number factor) {
  Number x = factor;  // right in the lower three bits; each round doubles them
  for (int round = 0; round < 5; ++round) x *= 2 - factor * x;
  return x;
}

}  // namespace penumbra
