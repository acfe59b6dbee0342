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

}  // namespace penumbra
