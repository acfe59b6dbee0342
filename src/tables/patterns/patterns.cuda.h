// SPDX-License-Identifier: Apache-2.0
//
// patterns.shader.h for a GPU. A lane has a text, since the states of an automaton follow from each other. The warp
// reads the texts together, a whole line of 128 bytes of one text after the other, and passes them through shared
// memory: lanes that read their texts alone would waste most of each line.
#pragma once

#include <cstdint>

#include "penumbra/cuda_form.h"
#include "tables/patterns/patterns.shader.h"

namespace penumbra {

/// Returns the word at an address, with zeros for the bytes from `end` on.
__device__ inline std::uint32_t word_before(std::uint64_t address, std::uint64_t end) {
  if (address + 4 <= end) return *reinterpret_cast<const std::uint32_t*>(address);
  std::uint32_t word = 0;
  for (std::uint64_t at = address; at < end; ++at) {
    word |= std::uint32_t{*reinterpret_cast<const std::uint8_t*>(at)} << 8 * (at - address);
  }
  return word;
}

__device__ inline void patterns_search_by_warps(patterns_view view, const std::uint32_t* before, penumbra_source source,
                                                std::uint32_t* after, patterns_found* found, std::uint32_t n) {
  constexpr std::uint32_t kWarp = 32, kLine = 128, kWords = kLine / 4, kAllLanes = 0xFFFFFFFF;
  // One word more a row, so that the lanes' rows are in different banks.
  __shared__ std::uint32_t rows[kMostCudaThreads][kWords + 1];
  __shared__ std::uint8_t byte_class[256];
  for (std::uint32_t i = threadIdx.x; i < 256; i += blockDim.x) byte_class[i] = view.byte_class[i];
  __syncthreads();
  const std::uint32_t lane = threadIdx.x % kWarp;
  std::uint32_t(*const own_rows)[kWords + 1] = rows + (threadIdx.x - lane);
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x - lane; first < n; first += step) {
    const std::uint32_t i = first + lane;
    const bool has_item = i < n;
    const std::uint64_t begin = has_item ? reinterpret_cast<std::uintptr_t>(source.bytes) + source.position[i] : 0;
    const std::uint64_t end = begin + (has_item ? source.length[i] : 0);
    const std::uint32_t state_before = has_item ? before[i] : PATTERNS_BEGIN;
    std::uint32_t state = state_before == PATTERNS_BEGIN ? 0 : state_before >> 8 & 0x7FFFFF;
    std::uint32_t last = state_before & 0xFF;
    bool is_first = state_before == PATTERNS_BEGIN;
    patterns_found own{};
    own.generation = view.generation;
    std::uint64_t line = begin / kLine * kLine;
    while (__any_sync(kAllLanes, line < end)) {
      __syncwarp();
      for (std::uint32_t row = 0; row < kWarp; ++row) {
        const std::uint64_t its = __shfl_sync(kAllLanes, line, static_cast<int>(row));
        const std::uint64_t its_begin = __shfl_sync(kAllLanes, begin, static_cast<int>(row));
        const std::uint64_t its_end = __shfl_sync(kAllLanes, end, static_cast<int>(row));
        // The memory may end where a text ends.
        const std::uint64_t word = its + 4 * lane;
        if (word < its_end && word + 4 > its_begin) own_rows[row][lane] = word_before(word, its_end);
      }
      __syncwarp();
      const std::uint64_t from = max(line, begin), to = min(line + kLine, end);
      for (std::uint64_t at = from; at < to; ++at) {
        const auto place = static_cast<std::uint32_t>(at - line);
        const std::uint32_t byte = own_rows[lane][place / 4] >> 8 * (place % 4) & 0xFF;
        if (is_first) {
          is_first = false;
        } else {
          const std::uint32_t index = state + byte_class[byte];
          const uint2 move = reinterpret_cast<const uint2*>(view.move)[index];
          const std::uint32_t pair = view.pair[last | byte << 8];
          if (move.x == state && (move.y & PATTERNS_MATCH) != 0) patterns_note(&own, view.found[index]);
          state = move.x == state ? move.y & ~PATTERNS_MATCH : pair;
        }
        last = byte;
      }
      line += kLine;
    }
    if (!has_item) continue;
    after[i] = is_first ? PATTERNS_BEGIN : state << 8 | last;
    found[i] = own;
  }
}

}  // namespace penumbra
