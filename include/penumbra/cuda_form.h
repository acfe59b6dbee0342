// SPDX-License-Identifier: Apache-2.0
//
// A CUDA form of a shader (x.cuda.h) for the engine `cuda`: a function with the arguments of the shader that
// distributes the items over threads. All threads of all blocks of a one-dimensional grid call the form, in whole
// warps. gridDim.x blocks share the items. The memory of the view does not change during a launch: each launch reads a
// copy of the table that nobody writes.
#pragma once

#include <cstdint>

namespace penumbra {

inline constexpr std::uint32_t kMostCudaThreads = 256;  ///< of a block

/// The threads and the shared memory that a form is launched with.
struct CudaShape {
  std::uint32_t threads_per_item = 1;  ///< A divisor or a multiple of 32.
  std::uint32_t items_per_team = 1;    ///< Items that the threads of an item process one after the other.
  std::uint32_t block_threads = 0;     ///< Threads of every block; 0: as many as items, up to kMostCudaThreads.
  std::uint32_t shared_bytes = 0;      ///< Dynamic shared memory of a block.
};
/// Specialise this constant for a form that needs another shape.
template <auto Function>
inline constexpr CudaShape kCudaShape{};

}  // namespace penumbra
