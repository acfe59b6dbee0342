// SPDX-License-Identifier: Apache-2.0
//
// Registers the engine as unavailable if the build has no nvcc.
#include <stdexcept>

#include "crypto/rsa_engine/form.h"
#include "cuda/engine.h"

namespace penumbra::cuda {
namespace {

constexpr char kReason[] =
    "this program was built without it: CMake found no nvcc, or sanitizers were asked for; install the toolkit of CUDA "
    "13 and build again";

[[maybe_unused]] const bool kRegistered =
    register_engine({.name = "cuda",
                     .summary = "an NVIDIA GPU, in batches that are gathered from all workers",
                     .priority = 5,
                     .settings = settings(),
                     .probe = [] { return Availability{false, kReason}; },
                     .create = nullptr});

}  // namespace
}  // namespace penumbra::cuda

std::unique_ptr<penumbra::rsa_engine::BatchForm> penumbra::rsa_engine::make_cuda_form() {
  throw std::runtime_error(cuda::kReason);
}
