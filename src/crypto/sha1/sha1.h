/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-1 (FIPS 180-4, section 6.1.2). */
#ifndef PENUMBRA_CRYPTO_SHA1_H
#define PENUMBRA_CRYPTO_SHA1_H

#include "crypto/bytes.h"

enum { SHA1_BLOCK = 64, SHA1_DIGEST = 20, SHA1_WORDS = 5 };

PENUMBRA_SHADER void sha1_begin(uint32_t* state) {
  state[0] = 0x67452301;
  state[1] = 0xEFCDAB89;
  state[2] = 0x98BADCFE;
  state[3] = 0x10325476;
  state[4] = 0xC3D2E1F0;
}

PENUMBRA_SHADER uint32_t sha1_rotate(uint32_t x, uint32_t bits) {
  return x << bits | x >> (32 - bits);
}

/* Returns the function and the constant of a round (sections 4.1.1 and 4.2.1). */
PENUMBRA_SHADER uint32_t sha1_mix(uint32_t round, uint32_t b, uint32_t c, uint32_t d) {
  if (round < 20) return (d ^ (b & (c ^ d))) + 0x5A827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ED9EBA1;
  if (round < 60) return ((b & c) | (d & (b | c))) + 0x8F1BBCDC;
  return (b ^ c ^ d) + 0xCA62C1D6;
}

PENUMBRA_SHADER void sha1_add_block(uint32_t* state, const uint8_t* block) {
  uint32_t word[80];
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  read_be32_words(word, block, 16);
  for (uint32_t i = 16; i < 80; ++i) word[i] = sha1_rotate(word[i - 3] ^ word[i - 8] ^ word[i - 14] ^ word[i - 16], 1);
  for (uint32_t i = 0; i < 80; ++i) {
    const uint32_t next = sha1_rotate(a, 5) + sha1_mix(i, b, c, d) + e + word[i];
    e = d;
    d = c;
    c = sha1_rotate(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

#endif
