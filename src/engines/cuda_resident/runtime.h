// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel of this build, with all shaders of the tree.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "variants.h"

namespace penumbra::cuda_resident {

/// Returns the shaders with their index in the kernel. Registrations before main() fill the list.
Variants<std::uint16_t>& resident_shaders();
/// Returns the kernel: serve() of kernel.cuh.
const void* resident_kernel();

}  // namespace penumbra::cuda_resident
