// SPDX-License-Identifier: Apache-2.0
#include "gpu/grid.cuh"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

constexpr std::uint32_t kOfAThread = 8;  ///< Reads in flight per thread.

__global__ void read(const std::uint16_t* table, std::uint32_t mask, std::uint32_t reads, unsigned long long* sum) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  std::uint32_t own = 0;
  for (std::uint32_t number = thread_number(); number < reads; number += kOfAThread * threads) {
#pragma unroll
    for (std::uint32_t k = 0; k < kOfAThread; ++k) own += table[random_place(number + k * threads, mask)];
  }
  atomicAdd(sum, static_cast<unsigned long long>(own));
}

/// Returns the number of blocks that the GPU runs at once.
template <class Kernel>
std::uint32_t all_at_once(Kernel kernel) {
  int processors = 0, blocks = 0;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0);
  return static_cast<std::uint32_t>(processors * blocks);
}

}  // namespace

cudaError_t launch_random_reads(const std::uint16_t* table, std::uint32_t mask, std::uint32_t reads,
                                unsigned long long* sum, cudaStream_t stream) {
  // A power of two of threads, so that every thread does complete rounds.
  std::uint32_t blocks = 1;
  while (2 * blocks <= all_at_once(&read) && 2 * blocks * kThreads * kOfAThread <= reads) blocks *= 2;
  read<<<blocks, kThreads, 0, stream>>>(table, mask, reads, sum);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
