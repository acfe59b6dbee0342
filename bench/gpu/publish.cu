// SPDX-License-Identifier: Apache-2.0
#include <cuda/atomic>

#include "gpu/kernels.h"

namespace penumbra::bench::gpu {
namespace {

using Shared = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

template <Publishing kWay>
__global__ void publish(std::uint32_t* words, std::uint32_t* flags, std::uint32_t item_words, std::uint32_t rounds) {
  const std::uint32_t buffer_words = kPublishedItems * item_words;
  const std::uint32_t thread = threadIdx.x;
  std::uint32_t* const own_flag = flags + blockIdx.x * kPublishedItems + thread;
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    const std::uint32_t first = (blockIdx.x * kPublishedBuffers + round % kPublishedBuffers) * buffer_words;
    for (std::uint32_t k = 0; k < item_words; ++k) {
      // With Publishing::group the threads store adjacent words; otherwise each thread fills an item.
      const std::uint32_t place =
          first + (kWay == Publishing::group ? k * kPublishedItems + thread : thread * item_words + k);
      if constexpr (kWay == Publishing::words) {
        Shared(words[place]).exchange(published_word(place, round), cuda::memory_order_relaxed);
      } else {
        words[place] = published_word(place, round);
      }
    }
    __syncwarp();
    if (kWay == Publishing::item) Shared(*own_flag).exchange(round, cuda::memory_order_release);
    if (kWay != Publishing::item && thread == 0) Shared(*own_flag).store(round, cuda::memory_order_release);
  }
}

}  // namespace

cudaError_t launch_publish(std::uint32_t* words, std::uint32_t* flags, unsigned groups, std::uint32_t item_words,
                           std::uint32_t rounds, Publishing way, cudaStream_t stream) {
  const auto kernel = way == Publishing::group  ? &publish<Publishing::group>
                      : way == Publishing::item ? &publish<Publishing::item>
                                                : &publish<Publishing::words>;
  kernel<<<groups, kPublishedItems, 0, stream>>>(words, flags, item_words, rounds);
  return cudaGetLastError();
}

}  // namespace penumbra::bench::gpu
