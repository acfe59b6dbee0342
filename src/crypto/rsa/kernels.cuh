// SPDX-License-Identifier: Apache-2.0
//
// Kernels of RSA: one for each size of keys and number of lanes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "crypto/rsa/cuda_forms.h"
#include "crypto/rsa/operation.cuh"

namespace penumbra::rsa::gpu {

/// A lane of a warp of the GPU.
struct WarpLane {
  PENUMBRA_LANE unsigned index() const { return threadIdx.x % 32; }
  PENUMBRA_LANE std::uint32_t from(std::uint32_t value, unsigned lane) const {
    return __shfl_sync(0xFFFFFFFF, value, static_cast<int>(lane));
  }
  PENUMBRA_LANE std::uint32_t ballot(bool is) const { return __ballot_sync(0xFFFFFFFF, is); }
  PENUMBRA_LANE void sync() const { __syncwarp(); }
};

/// The largest shared memory of a block, of GPUs of compute capability 9.0.
inline constexpr unsigned kMostShared = 227 * 1024;

template <unsigned kLanes, unsigned kWords, unsigned kWindow>
struct KernelShape {
  using PowerTable = Table<kLanes, kWords, kWindow>;
  static constexpr unsigned kHalfBytes = PowerTable::kColumns * PowerTable::kAll * sizeof(std::uint32_t);
  static constexpr unsigned kMostThreads = std::min(1024U, kMostShared / kHalfBytes * kLanes / 32 * 32);
};

/// Runs the operations of a batch.
template <unsigned kLanes, unsigned kWords, unsigned kWindow>
__global__ void __launch_bounds__(KernelShape<kLanes, kWords, kWindow>::kMostThreads, 1) rsa_kernel(Tasks tasks) {
  extern __shared__ std::uint32_t shared[];
  const unsigned halves = blockDim.x / kLanes;
  const Table<kLanes, kWords, kWindow> table{shared, halves, threadIdx.x / kLanes};
  const std::uint32_t index = blockIdx.x * (halves / 2) + table.half / 2;
  const bool is_stored = index < tasks.count;
  run_operation(WarpLane{}, tasks, is_stored ? index : tasks.count - 1, is_stored, table);
}

template <unsigned kLanes, unsigned kWords, unsigned kWindow>
Form form_of() {
  using Shape = KernelShape<kLanes, kWords, kWindow>;
  return {.bits = 64 * kLanes * kWords,
          .lanes = kLanes,
          .half_bytes = Shape::kHalfBytes,
          .most_threads = Shape::kMostThreads,
          .kernel = reinterpret_cast<const void*>(&rsa_kernel<kLanes, kWords, kWindow>)};
}

}  // namespace penumbra::rsa::gpu
