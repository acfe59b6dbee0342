// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel of this build, with all its shaders.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "variants.h"

namespace penumbra::cuda_resident {

/// The shaders and their index in the kernel. Filled before main() begins.
Variants<std::uint16_t>& resident_shaders();
/// The kernel: serve() of kernel.cuh.
const void* resident_kernel();

}  // namespace penumbra::cuda_resident
