// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

namespace penumbra::ids {

/// Returns a hash of words, for a table whose places an attacker must not predict: `seed` is secret.
inline std::uint64_t hash_words(std::uint64_t seed, std::initializer_list<std::uint64_t> words) {
  std::uint64_t mixed = seed;
  for (const std::uint64_t word : words) {
    mixed = (mixed ^ word) * 0x9E3779B97F4A7C15U;
    mixed ^= mixed >> 29;
  }
  return mixed;
}

}  // namespace penumbra::ids
