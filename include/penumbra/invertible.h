// SPDX-License-Identifier: Apache-2.0
//
// Inverts the steps of an invertible hash.
#pragma once

#include <concepts>
#include <limits>

namespace penumbra {

/// Returns the number y with y ^ (y >> shift) == x. `shift` is at least 1.
template <std::unsigned_integral Number>
constexpr Number unshifted(Number x, unsigned shift) {
  Number y = x;
  for (unsigned known = shift; known < std::numeric_limits<Number>::digits; known += shift) y = x ^ (y >> shift);
  return y;
}

/// Returns the multiplicative inverse of the odd `factor`, modulo 2^digits of Number.
template <std::unsigned_integral Number>
constexpr Number inverse(Number factor) {
  Number x = factor;  // Right in the lower three bits; each round doubles the number of right bits.
  for (int round = 0; round < 5; ++round) x *= 2 - factor * x;
  return x;
}

}  // namespace penumbra
