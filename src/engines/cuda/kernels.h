// SPDX-License-Identifier: Apache-2.0
//
// The shaders that were compiled for the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "cuda/device.h"
#include "variants.h"

namespace penumbra::cuda {

/// A shader as a kernel.
struct Kernel {
  const void* function = nullptr;
  cudaError_t (*launch)(const Launch& launch, cudaStream_t stream) = nullptr;
};

/// Filled before main() begins.
Variants<Kernel>& kernels();

}  // namespace penumbra::cuda
