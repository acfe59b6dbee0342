// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace penumbra::bench::gpu {

constexpr std::uint32_t kThreads = 256;  ///< Threads of a block.
constexpr std::uint32_t blocks_of(std::uint32_t threads) {
  return (threads + kThreads - 1) / kThreads;
}
/// Returns the number of this thread in the grid.
__device__ inline std::uint32_t thread_number() {
  return blockIdx.x * blockDim.x + threadIdx.x;
}

}  // namespace penumbra::bench::gpu
