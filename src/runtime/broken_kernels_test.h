// SPDX-License-Identifier: Apache-2.0
//
// Provides faulty kernels for tests on a real GPU.
#pragma once

#include <cuda_runtime_api.h>

namespace penumbra::runtime {

/// Loads the kernels in advance. A launch that has to load its kernel waits until nothing runs on the GPU.
cudaError_t load_broken_kernels();
/// Launches a block with too many threads. The launch is refused without further effects.
cudaError_t launch_refused(cudaStream_t stream);
/// Launches a kernel that executes a trap, which breaks the process's context.
cudaError_t launch_trap(cudaStream_t stream);
/// Launches a kernel that never ends.
cudaError_t launch_endless(cudaStream_t stream);

}  // namespace penumbra::runtime
