// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "runtime/broken_kernels_test.h"

namespace penumbra::runtime {
namespace {

__global__ void nothing() {}

__global__ void trap() {
  asm volatile("trap;");
}

__global__ void endless() {
  for (;;) __nanosleep(1000);
}

}  // namespace

cudaError_t load_broken_kernels() {
  for (void (*const kernel)() : {&nothing, &trap, &endless}) {
    cudaFuncAttributes attributes{};
    if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t launch_refused(cudaStream_t stream) {
  constexpr unsigned kTooMany = 4096;
  nothing<<<1, kTooMany, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_trap(cudaStream_t stream) {
  trap<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

cudaError_t launch_endless(cudaStream_t stream) {
  endless<<<1, 1, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace penumbra::runtime
