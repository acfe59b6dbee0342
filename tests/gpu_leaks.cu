// SPDX-License-Identifier: Apache-2.0
//
// Kernels that test_gpu_secrets.py must find guilty, each of one thing, and one that is innocent.
#include <cstdint>

namespace {

__device__ std::uint32_t table[256] = {1, 2, 3, 4};

__device__ std::uint32_t mixed(std::uint32_t word) {
  for (int i = 0; i < 3; ++i) word = (word << 5 | word >> 27) ^ word * 0x9E3779B9;
  return word;
}

}  // namespace

/// Reads the secret in the same way whatever it is.
extern "C" __global__ void leak_nothing(const std::uint32_t* secret, std::uint32_t* to) {
  const std::uint32_t word = mixed(secret[threadIdx.x]);
  to[threadIdx.x] = word % 2 == 0 ? word : ~word;
}

extern "C" __global__ void leak_address(const std::uint32_t* secret, std::uint32_t* to) {
  to[threadIdx.x] = table[mixed(secret[threadIdx.x]) >> 24];
}

extern "C" __global__ void leak_branch(const std::uint32_t* secret, std::uint32_t* to) {
  std::uint32_t word = secret[threadIdx.x];
  while ((word & 7) != 0) word = mixed(word) + 1;
  to[threadIdx.x] = word;
}

/// The secret is in shared memory on its way, and decides a bank.
extern "C" __global__ void leak_bank(const std::uint32_t* secret, std::uint32_t* to) {
  __shared__ std::uint32_t room[64], rows[64];
  room[threadIdx.x] = secret[threadIdx.x];
  rows[threadIdx.x] = threadIdx.x;
  rows[threadIdx.x + 32] = threadIdx.x;
  __syncwarp();
  to[threadIdx.x] = rows[room[31 - threadIdx.x] & 63];
}

extern "C" __global__ void leak_lane(const std::uint32_t* secret, std::uint32_t* to) {
  to[threadIdx.x] = __shfl_sync(0xFFFFFFFF, threadIdx.x * 3, secret[threadIdx.x] & 31);
}
