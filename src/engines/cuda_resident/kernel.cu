// SPDX-License-Identifier: Apache-2.0
//
// The resident kernel over all shaders of the tree, which the build lists in resident_shaders.h.
#if defined(__CUDA_ARCH__)
#define GOPT_FIRST_ITEM threadIdx.x
#define GOPT_ITEM_STRIDE blockDim.x
#endif
#include "cuda_resident/kernel.cuh"
#include "cuda_resident/runtime.h"
#include "resident_shaders.h"

namespace penumbra::cuda_resident {
namespace {

template <auto... Functions>
struct Kernel {
  static const void* entry() { return reinterpret_cast<const void*>(&serve<Functions...>); }
  /// Registers the shaders. Always returns true.
  static bool add(std::initializer_list<const char*> names) {
    std::uint16_t index = 0;
    const auto* name = names.begin();
    (resident_shaders().add(ShaderEntry<Functions>::describe(*name++), index++), ...);
    return true;
  }
};
using ResidentKernel = Kernel<PENUMBRA_RESIDENT_FUNCTIONS>;

[[maybe_unused]] const bool kAdded = ResidentKernel::add({PENUMBRA_RESIDENT_NAMES});

}  // namespace

Variants<std::uint16_t>& resident_shaders() {
  static Variants<std::uint16_t> all;
  return all;
}

const void* resident_kernel() {
  return ResidentKernel::entry();
}

}  // namespace penumbra::cuda_resident
