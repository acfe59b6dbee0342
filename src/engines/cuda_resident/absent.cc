// SPDX-License-Identifier: Apache-2.0
//
// Registers the engine as unavailable if the build has no nvcc.
#include "cuda_resident/engine.h"

namespace penumbra::cuda_resident {
namespace {

EngineInfo absent() {
  EngineInfo info = description();
  info.probe = [] {
    return Availability{false,
                        "this program was built without it, like the engine 'cuda': CMake found no nvcc, or sanitizers "
                        "were asked for; install the toolkit of CUDA 13 and build again"};
  };
  return info;
}

[[maybe_unused]] const bool kRegistered = register_engine(absent());

}  // namespace
}  // namespace penumbra::cuda_resident
