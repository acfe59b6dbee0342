// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cuda/atomic>

#include "gpu/grid.cuh"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

__global__ void count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first) {
  if (thread_number() < threads) out[thread_number()] = first + thread_number();
}

__global__ void answer_and_flag(FlaggedBatch batch) {
  batch.out[threadIdx.x] = answer(batch.in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>(*batch.flag)
      .store(batch.number, cuda::memory_order_release);
}

}  // namespace

cudaError_t launch_flagged(const FlaggedBatch& batch, cudaStream_t stream) {
  answer_and_flag<<<1, FlaggedBatch::kItems, 0, stream>>>(batch);
  return cudaGetLastError();
}

const void* flagged_kernel() {
  return reinterpret_cast<const void*>(&answer_and_flag);
}

cudaError_t launch_count(std::uint32_t* out, std::uint32_t threads, std::uint32_t first, cudaStream_t stream) {
  const std::uint32_t of_a_block = std::min(threads, kThreads);
  count<<<blocks_of(threads), of_a_block, 0, stream>>>(out, threads, first);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
