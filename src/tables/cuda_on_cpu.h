// SPDX-License-Identifier: Apache-2.0
//
// The CUDA language features that a CUDA form of a shader (x.cuda.h) needs, for tests on machines without a GPU. Each
// thread of a block is a host thread, blocks run one after another, and shared memory of a block is static.
// ThreadSanitizer therefore finds data races of the form. Include this header before the form.
#pragma once

#include <algorithm>
#include <barrier>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

// Names and functions of CUDA (CUDA C++ Programming Guide; CUDA Math API, integer intrinsics).
// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp, readability-identifier-naming)
#define __device__
#define __shared__ static

struct CudaIndex {
  std::uint32_t x = 0;
};
inline thread_local CudaIndex threadIdx;
inline CudaIndex blockIdx, blockDim, gridDim;

struct alignas(16) [[gnu::may_alias]] ulonglong2 {
  unsigned long long x, y;
};

namespace penumbra::cuda_on_cpu {

inline constexpr std::uint32_t kWarp = 32;
/// State of the running block.
inline std::unique_ptr<std::barrier<>> meeting;
inline std::vector<std::uint8_t> votes;

/// Calls `kernel` in each of `threads` threads of each of `blocks` blocks. `threads` is a multiple of 32.
template <class Kernel>
void launch(std::uint32_t blocks, std::uint32_t threads, Kernel kernel) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    meeting = std::make_unique<std::barrier<>>(static_cast<std::ptrdiff_t>(threads));
    votes.assign(threads, 0);
    std::vector<std::jthread> team;
    team.reserve(threads);
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      team.emplace_back([thread, &kernel] {
        threadIdx.x = thread;
        kernel();
      });
    }
  }
}

}  // namespace penumbra::cuda_on_cpu

inline void __syncthreads() {
  penumbra::cuda_on_cpu::meeting->arrive_and_wait();
}

/// All threads of the block must call the function, unlike on a GPU, where the threads of the warp suffice.
inline std::uint32_t __ballot_sync(std::uint32_t /*mask*/, bool vote) {
  using namespace penumbra::cuda_on_cpu;
  votes[threadIdx.x] = static_cast<std::uint8_t>(vote);
  __syncthreads();
  std::uint32_t all = 0;
  for (std::uint32_t lane = 0; lane < kWarp; ++lane) {
    all |= std::uint32_t{votes[threadIdx.x / kWarp * kWarp + lane]} << lane;
  }
  __syncthreads();
  return all;
}

inline std::uint32_t __popc(std::uint32_t bits) {
  return static_cast<std::uint32_t>(std::popcount(bits));
}

/// Returns the lower 32 bits of `upper`:`lower` after a right shift by the lowest five bits of `shift`.
inline std::uint32_t __funnelshift_r(std::uint32_t lower, std::uint32_t upper, std::uint32_t shift) {
  return static_cast<std::uint32_t>((std::uint64_t{upper} << 32 | lower) >> (shift & 31));
}

inline std::uint32_t min(std::uint32_t one, std::uint32_t other) {
  return std::min(one, other);
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp, readability-identifier-naming)
