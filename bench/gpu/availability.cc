// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "gpu/measurements.h"

namespace penumbra::bench::gpu {

Availability find_gpu() {
  // A kernel that is loaded by its first launch may wait for a resident kernel, so all kernels are loaded at once.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  return std::ranges::find(engines(), "cuda", &EngineInfo::name)->probe();
}

}  // namespace penumbra::bench::gpu
