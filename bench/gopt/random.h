// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penumbra::bench {

/// Numbers without end from a seed (splitmix64): many a second, for tables of gigabytes.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15U); }
  /// Evenly from 0 to `count` - 1.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>((next() >> 32) * static_cast<std::uint64_t>(count) >> 32);
  }
  /// The same number for the same input; no two inputs share one.
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

}  // namespace penumbra::bench
