// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/grid.cuh"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

__global__ void count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first) {
  if (thread_number() < threads) out[thread_number()] = first + thread_number();
}

}  // namespace

cudaError_t launch_count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first, cudaStream_t stream) {
  const std::uint32_t of_a_block = std::min(threads, kThreads);
  count<<<blocks_of(threads), of_a_block, 0, stream>>>(out, threads, first);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
