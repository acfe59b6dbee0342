// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "penumbra/prefetch.h"

namespace penumbra::bench {

/// Asks for so many cache lines, each at a random place of the memory, and waits for none.
inline void ask_for_random_lines(const std::byte* memory, std::size_t bytes, Random& random, std::uint32_t count) {
  constexpr std::size_t kLine = 64;
  const std::uint64_t lines = bytes / kLine;
  for (std::uint32_t i = 0; i < count; ++i) prefetch_line(memory + ((random.next() >> 32) * lines >> 32) * kLine);
}

}  // namespace penumbra::bench
