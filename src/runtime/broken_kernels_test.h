// SPDX-License-Identifier: Apache-2.0
//
// For tests on a real GPU: kernels that do what a broken one does.
#pragma once

#include <cuda_runtime_api.h>

namespace penumbra::runtime {

/// Loads them: a launch that has to do that waits until nothing runs on the GPU.
cudaError_t load_broken_kernels();
/// One of more threads than a block can have: the launch is refused, and nothing else happens.
cudaError_t launch_refused(cudaStream_t stream);
/// One that executes a trap, upon which the process' context is broken.
cudaError_t launch_trap(cudaStream_t stream);
/// One that never ends.
cudaError_t launch_endless(cudaStream_t stream);

}  // namespace penumbra::runtime
