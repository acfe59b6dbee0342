// SPDX-License-Identifier: Apache-2.0
//
// Functions that engines share which use a GPU through the CUDA runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "penumbra/engine.h"

namespace penumbra::cuda {

/// Throws a DeviceError if `error` is an error; `doing` describes the failed operation.
void check(cudaError_t error, const char* doing);
/// Returns why there is no GPU, given the runtime's answer to the query for the number of GPUs; empty if there is one.
std::string why_there_is_none(cudaError_t error, int count);
/// `serves` returns true if kernels are compiled for the GPU; `description_of` names the GPU and its shortcomings.
bool serves(const cudaDeviceProp& gpu);
std::string description_of(const cudaDeviceProp& gpu);
/// Reports if this process has GPUs that serve.
Availability probe_gpu();
/// Returns the NUMA node near each serving GPU; below 0 if unknown.
const std::vector<int>& nodes_of_gpus();
/// Returns the CUDA device number of a serving GPU; the GPU must exist.
int number_of_gpu(unsigned index);
/// Opens a serving GPU with `streams` streams, for calls from this thread. Throws DeviceError.
std::unique_ptr<Device> open_gpu(unsigned index, unsigned streams);

}  // namespace penumbra::cuda
