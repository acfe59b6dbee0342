// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/grid.cuh"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

__global__ void fill(chase_line* table, std::uint32_t lines, Permutation next) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t line = thread_number(); line < lines; line += step) table[line].next = next(line);
}

__global__ void follow(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items) {
  chase(view, start, end, items);
}

__global__ void follow_by_fours(chase_view view, const std::uint32_t* start, std::uint32_t* end) {
  constexpr std::uint32_t kOfAThread = 4;
  const std::uint32_t threads = gridDim.x * blockDim.x;
  std::uint32_t at[kOfAThread];
#pragma unroll
  for (std::uint32_t k = 0; k < kOfAThread; ++k) at[k] = start[thread_number() + k * threads];
  for (std::uint32_t step = 0; step < view.steps; ++step) {
#pragma unroll
    for (std::uint32_t& each : at) each = view.line[each].next;
  }
#pragma unroll
  for (std::uint32_t k = 0; k < kOfAThread; ++k) end[thread_number() + k * threads] = at[k];
}

__global__ void hash(hashes_view view, const std::uint32_t* word, std::uint32_t* out, std::uint32_t items) {
  hashes(view, word, out, items);
}

}  // namespace

cudaError_t launch_fill_chains(chase_line* table, std::uint32_t lines, Permutation next, cudaStream_t stream) {
  constexpr std::uint32_t kMostBlocks = 4096;
  const std::uint32_t blocks = std::min(blocks_of(lines), kMostBlocks);
  fill<<<blocks, kThreads, 0, stream>>>(table, lines, next);
  return cudaGetLastError();
}

cudaError_t launch_chase(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                         cudaStream_t stream) {
  follow<<<blocks_of(items), kThreads, 0, stream>>>(view, start, end, items);
  return cudaGetLastError();
}

cudaError_t launch_chase_by_fours(chase_view view, const std::uint32_t* start, std::uint32_t* end, std::uint32_t items,
                                  cudaStream_t stream) {
  follow_by_fours<<<blocks_of(items / 4), kThreads, 0, stream>>>(view, start, end);
  return cudaGetLastError();
}

cudaError_t launch_hashes(hashes_view view, const std::uint32_t* word, std::uint32_t* hash_of_word, std::uint32_t items,
                          cudaStream_t stream) {
  hash<<<blocks_of(items), kThreads, 0, stream>>>(view, word, hash_of_word, items);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
