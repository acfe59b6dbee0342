// SPDX-License-Identifier: Apache-2.0
//
// A shader's form for the engine `cuda` (x.cuda.h): a function with the shader's arguments that shares items among
// threads as it likes. All threads of all blocks of a row call it, whole warps of them; gridDim.x blocks share the
// items. What the view leads to does not change meanwhile: a launch reads a copy of the table that nobody writes.
#pragma once

#include <cstdint>

namespace penumbra {

inline constexpr std::uint32_t kMostCudaThreads = 256;  ///< of a block

}  // namespace penumbra
