// SPDX-License-Identifier: Apache-2.0
//
// What engines share that reach a GPU by way of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "cuda/device.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// Throws a DeviceError if `error` is one; `doing` says what was done.
void check(cudaError_t error, const char* doing);
/// Whether this process has GPUs that serve.
Availability probe_gpu();
/// Of each of them the NUMA node near it, or below 0.
const std::vector<int>& nodes_of_gpus();
/// CUDA's own number of one of them, as long as there is one.
int number_of_gpu(unsigned index);
/// Opens one of them, with so many streams; for calls from this thread. Throws DeviceError.
std::unique_ptr<Device> open_gpu(unsigned index, unsigned streams);

}  // namespace penumbra::cuda
