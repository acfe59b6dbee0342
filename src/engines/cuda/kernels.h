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

/// How a kernel tells the host that all of it has ended, sooner than an event does and cheaper to look at.
struct Signal {
  std::uint32_t* blocks = nullptr;  ///< in the device's memory: those that have ended; 0 between launches
  std::uint32_t* flag = nullptr;    ///< in the host's: becomes `value`; null: the host does not want to know
  std::uint32_t value = 0;
};

/// A shader as a kernel.
struct Kernel {
  const void* function = nullptr;
  cudaError_t (*launch)(const Launch& launch, const Signal& signal, cudaStream_t stream) = nullptr;
};

/// Filled before main() begins.
Variants<Kernel>& kernels();

/// Copies pieces; `pieces` is the device's address of them, `shift` what turns a host address in them into the
/// device's.
cudaError_t launch_scatter(const Piece* pieces, std::uint32_t count, std::ptrdiff_t shift, cudaStream_t stream);
const void* scatter_kernel();

}  // namespace penumbra::cuda
