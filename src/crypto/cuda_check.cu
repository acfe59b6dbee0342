// SPDX-License-Identifier: Apache-2.0
//
// Checks that the plain source compiles as CUDA C++. No engine uses this kernel.
#include <cstdint>

#include "crypto/cipher.h"

__global__ void seal_or_open(const cipher_key* keys, const cipher_packet* packets, std::uint32_t* results,
                             std::uint32_t count, bool is_sealed) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const cipher_key* const key = keys + packets[i].key;
  results[i] = is_sealed ? cipher_seal(key, packets + i) : cipher_open(key, packets + i);
}
