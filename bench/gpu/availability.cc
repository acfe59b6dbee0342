// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include "gpu/measurements.h"

namespace penumbra::bench::gpu {

Availability find_gpu() {
  // A kernel that is loaded when it is first launched may wait for one that never stops.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  return std::ranges::find(engines(), "cuda", &EngineInfo::name)->probe();
}

}  // namespace penumbra::bench::gpu
