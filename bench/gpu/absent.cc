// SPDX-License-Identifier: Apache-2.0
//
// In place of the measurements where the build has no nvcc, or not the gopt compiler for the CPU beside the GPU.
#include "gpu/measurements.h"

namespace penumbra::bench::gpu {

void measure_all(const Options& /*options*/, Report& /*report*/) {}

Availability find_gpu() {
  return {false,
          "this program was built without it: CMake found no nvcc or no Clang 19 libraries, or sanitizers were asked "
          "for"};
}

}  // namespace penumbra::bench::gpu
