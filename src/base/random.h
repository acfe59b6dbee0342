// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penumbra {

/// A SplitMix64 generator (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). SplitMix64
/// gives the same numbers on every machine, and is cheap to seed for each frame of a stream.
class Random {
 public:
  static constexpr std::uint64_t kIncrement = 0x9E3779B97F4A7C15U;  ///< Odd number next to 2^64 over the golden ratio.

  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += kIncrement); }
  /// Returns 0 to `bound` - 1, by multiplication (Lemire 2019, without the rejection: the bias is at most bound /
  /// 2^32).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// Returns a bijective hash of `z`.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace penumbra
