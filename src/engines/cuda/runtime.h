// SPDX-License-Identifier: Apache-2.0
//
// What engines share that reach a GPU by way of the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// Throws a DeviceError if `error` is one; `doing` says what was done.
void check(cudaError_t error, const char* doing);
/// What the runtime's answer to how many GPUs there are says if it is none; empty if there are some.
std::string why_there_is_none(cudaError_t error, int count);
/// Whether kernels are compiled for such a GPU, and what it is, with what it lacks.
bool serves(const cudaDeviceProp& gpu);
std::string description_of(const cudaDeviceProp& gpu);
/// Whether this process has GPUs that serve.
Availability probe_gpu();
/// Of each of them the NUMA node near it, or below 0.
const std::vector<int>& nodes_of_gpus();
/// CUDA's own number of one of them, as long as there is one.
int number_of_gpu(unsigned index);
/// Opens one of them, with so many streams; for calls from this thread. Throws DeviceError.
std::unique_ptr<Device> open_gpu(unsigned index, unsigned streams);

}  // namespace penumbra::cuda
