// SPDX-License-Identifier: Apache-2.0
//
// Returns the time of a monotonic clock as a number.
#pragma once

#include <chrono>
#include <cstdint>

namespace penumbra {

inline std::uint64_t steady_ns() noexcept {
  const std::chrono::nanoseconds since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(since.count());
}
inline std::uint64_t steady_ms() noexcept {
  return steady_ns() / 1'000'000;
}

}  // namespace penumbra
