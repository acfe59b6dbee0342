/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4, section 6.2.2). */
#ifndef PENUMBRA_CRYPTO_SHA256_H
#define PENUMBRA_CRYPTO_SHA256_H

#include "crypto/bytes.h"

enum { SHA256_BLOCK = 64, SHA256_DIGEST = 32, SHA256_WORDS = 8, SHA256_ROUNDS = 64 };

PENUMBRA_SHADER void sha256_begin(uint32_t* state) {
  state[0] = 0x6A09E667;
  state[1] = 0xBB67AE85;
  state[2] = 0x3C6EF372;
  state[3] = 0xA54FF53A;
  state[4] = 0x510E527F;
  state[5] = 0x9B05688C;
  state[6] = 0x1F83D9AB;
  state[7] = 0x5BE0CD19;
}

PENUMBRA_SHADER uint32_t sha256_rotate(uint32_t x, uint32_t bits) {
  return x >> bits | x << (32 - bits);
}

/* Returns the constant of a round: the cube roots of the first primes. */
PENUMBRA_SHADER uint32_t sha256_constant(uint32_t round) {
  // clang-format off
  static const uint32_t kConstants[SHA256_ROUNDS] = {
      0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
      0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
      0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
      0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
      0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
      0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
      0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
      0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};
  // clang-format on
  return kConstants[round];
}

PENUMBRA_SHADER void sha256_add_block(uint32_t* state, const uint8_t* block) {
  uint32_t word[SHA256_ROUNDS], work[SHA256_WORDS];
  read_be32_words(word, block, 16);
  for (uint32_t i = 16; i < SHA256_ROUNDS; ++i) {
    const uint32_t x = word[i - 15], y = word[i - 2];
    word[i] = word[i - 16] + (sha256_rotate(x, 7) ^ sha256_rotate(x, 18) ^ x >> 3) + word[i - 7] +
              (sha256_rotate(y, 17) ^ sha256_rotate(y, 19) ^ y >> 10);
  }
  for (uint32_t i = 0; i < SHA256_WORDS; ++i) work[i] = state[i];
  for (uint32_t i = 0; i < SHA256_ROUNDS; ++i) {
    const uint32_t a = work[0], b = work[1], c = work[2], e = work[4], f = work[5], g = work[6];
    const uint32_t first = work[7] + (sha256_rotate(e, 6) ^ sha256_rotate(e, 11) ^ sha256_rotate(e, 25)) +
                           (g ^ (e & (f ^ g))) + sha256_constant(i) + word[i];
    const uint32_t second =
        (sha256_rotate(a, 2) ^ sha256_rotate(a, 13) ^ sha256_rotate(a, 22)) + ((a & b) | (c & (a | b)));
    for (uint32_t k = 7; k > 0; --k) work[k] = work[k - 1];
    work[4] += first;
    work[0] = first + second;
  }
  for (uint32_t i = 0; i < SHA256_WORDS; ++i) state[i] += work[i];
}

#endif
