// SPDX-License-Identifier: Apache-2.0
//
// SHA-1 and SHA-256 of blocks in shared memory by one lane. The loops are unrolled, so that the schedule of 16 words
// and the constants stay in registers.
#pragma once

#include <cstdint>

#include "crypto/sha1/sha1.h"
#include "crypto/sha2/sha256.h"

namespace penumbra::cipher_cuda {

/// Loads the words of a block, which is aligned to 4 bytes.
__device__ inline void load_words(std::uint32_t (&word)[16], const std::uint8_t* block) {
#pragma unroll
  for (int i = 0; i < 16; ++i) word[i] = __byte_perm(reinterpret_cast<const std::uint32_t*>(block)[i], 0, 0x0123);
}

__device__ inline void sha1_blocks(std::uint64_t* state, const std::uint8_t* block, std::uint32_t blocks) {
  auto a = static_cast<std::uint32_t>(state[0]), b = static_cast<std::uint32_t>(state[1]),
       c = static_cast<std::uint32_t>(state[2]), d = static_cast<std::uint32_t>(state[3]),
       e = static_cast<std::uint32_t>(state[4]);
  for (std::uint32_t k = 0; k < blocks; ++k, block += SHA1_BLOCK) {
    const std::uint32_t before[SHA1_WORDS] = {a, b, c, d, e};
    std::uint32_t word[16];
    load_words(word, block);
#pragma unroll
    for (std::uint32_t i = 0; i < 80; ++i) {
      if (i >= 16) {
        word[i % 16] = sha1_rotate(word[(i + 13) % 16] ^ word[(i + 8) % 16] ^ word[(i + 2) % 16] ^ word[i % 16], 1);
      }
      const std::uint32_t next = sha1_rotate(a, 5) + sha1_mix(i, b, c, d) + e + word[i % 16];
      e = d;
      d = c;
      c = sha1_rotate(b, 30);
      b = a;
      a = next;
    }
    a += before[0];
    b += before[1];
    c += before[2];
    d += before[3];
    e += before[4];
  }
  state[0] = a;
  state[1] = b;
  state[2] = c;
  state[3] = d;
  state[4] = e;
}

/// Rotates to the right.
template <int kBits>
__device__ std::uint32_t turned(std::uint32_t x) {
  return __funnelshift_r(x, x, kBits);
}

__device__ inline void sha256_blocks(std::uint64_t* state, const std::uint8_t* block, std::uint32_t blocks) {
  std::uint32_t s[SHA256_WORDS];
#pragma unroll
  for (int i = 0; i < SHA256_WORDS; ++i) s[i] = static_cast<std::uint32_t>(state[i]);
  for (std::uint32_t k = 0; k < blocks; ++k, block += SHA256_BLOCK) {
    std::uint32_t word[16], x[SHA256_WORDS];
    load_words(word, block);
#pragma unroll
    for (int i = 0; i < SHA256_WORDS; ++i) x[i] = s[i];
#pragma unroll
    for (std::uint32_t i = 0; i < 64; ++i) {
      if (i >= 16) {
        const std::uint32_t early = word[(i + 1) % 16], late = word[(i + 14) % 16];
        word[i % 16] += (turned<7>(early) ^ turned<18>(early) ^ early >> 3) + word[(i + 9) % 16] +
                        (turned<17>(late) ^ turned<19>(late) ^ late >> 10);
      }
      const std::uint32_t a = x[0], e = x[4];
      const std::uint32_t first = x[7] + (turned<6>(e) ^ turned<11>(e) ^ turned<25>(e)) + (x[6] ^ (e & (x[5] ^ x[6]))) +
                                  sha256_constant(i) + word[i % 16];
      const std::uint32_t second = (turned<2>(a) ^ turned<13>(a) ^ turned<22>(a)) + ((a & x[1]) | (x[2] & (a | x[1])));
#pragma unroll
      for (int n = SHA256_WORDS - 1; n > 0; --n) x[n] = x[n - 1];
      x[4] += first;
      x[0] = first + second;
    }
#pragma unroll
    for (int i = 0; i < SHA256_WORDS; ++i) s[i] += x[i];
  }
#pragma unroll
  for (int i = 0; i < SHA256_WORDS; ++i) state[i] = s[i];
}

}  // namespace penumbra::cipher_cuda
