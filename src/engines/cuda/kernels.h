// SPDX-License-Identifier: Apache-2.0
//
// The shaders that were compiled for the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
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

/// Copies pieces; `pieces` is the device's address of them, `shift` what turns a host address in them into the
/// device's.
cudaError_t launch_scatter(const Piece* pieces, std::uint32_t count, std::ptrdiff_t shift, cudaStream_t stream);
const void* scatter_kernel();

}  // namespace penumbra::cuda
