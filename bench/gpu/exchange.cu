// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "gpu/grid.cuh"
#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

template <class Word>
using Shared = cuda::atomic_ref<Word, cuda::thread_scope_system>;

__global__ void answers(const std::uint32_t* in, std::uint32_t* out, std::uint32_t items) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = thread_number(); i < items; i += step) out[i] = answer(in[i]);
}

/// Reads data that the host wrote before the request: one thread acquires the request, and a barrier follows.
__global__ void exchange(ExchangeSlot* slots) {
  ExchangeSlot& slot = slots[blockIdx.x];
  const std::uint32_t* const in = slot.in;
  std::uint32_t* const out = slot.out;
  __shared__ std::uint64_t request;
  std::uint64_t number = 0;
  for (;;) {
    if (threadIdx.x == 0) {
      std::uint64_t seen = 0;
      do {
        seen = Shared<std::uint64_t>(slot.request).load(cuda::memory_order_acquire);
      } while (seen >> 32 == number);
      request = seen;
    }
    __syncthreads();
    if (request == ExchangeSlot::kStop) return;
    const auto items = static_cast<std::uint32_t>(request);
    number = request >> 32;
    for (std::uint32_t i = threadIdx.x; i < items; i += blockDim.x) out[i] = answer(in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
      Shared<std::uint32_t>(slot.done).store(static_cast<std::uint32_t>(number), cuda::memory_order_release);
    }
  }
}

}  // namespace

cudaError_t launch_answers(const std::uint32_t* in, std::uint32_t* out, std::uint32_t items, cudaStream_t stream) {
  answers<<<blocks_of(items), kThreads, 0, stream>>>(in, out, items);
  return cudaGetLastError();
}

cudaError_t launch_exchange(ExchangeSlot* slots, unsigned count, unsigned threads, cudaStream_t stream) {
  exchange<<<count, threads, 0, stream>>>(slots);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
