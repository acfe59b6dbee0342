// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "penumbra/prefetch.h"

namespace penumbra::bench {

/// Returns a random cache line of the memory.
inline const std::byte* random_line(const std::byte* memory, std::size_t bytes, Random& random) {
  constexpr std::size_t kLine = 64;
  const std::uint64_t lines = bytes / kLine;
  return memory + ((random.next() >> 32) * lines >> 32) * kLine;
}

/// Prefetches `count` random lines without waiting.
inline void ask_for_random_lines(const std::byte* memory, std::size_t bytes, Random& random, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) prefetch_line(random_line(memory, bytes, random));
}

}  // namespace penumbra::bench
