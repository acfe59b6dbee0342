/* SPDX-License-Identifier: Apache-2.0
 *
 * Dependent hashes, with which the offloading of computation is measured (G-Opt, figure 4). Each is CityHash's hash of
 * four bytes (Pike, Alakuijala 2011), about thirty instructions. */
#ifndef PENUMBRA_BENCH_HASHES_SHADER_H
#define PENUMBRA_BENCH_HASHES_SHADER_H

#include "penumbra/shader.h"

struct hashes_view {
  uint32_t rounds; /* Hashes per item. */
};

PENUMBRA_SHADER uint32_t hashes_turned(uint32_t x, uint32_t right) {
  return x >> right | x << (32 - right);
}

PENUMBRA_SHADER uint32_t hashes_joined(uint32_t hash, uint32_t word) {
  word = hashes_turned(word * 0xCC9E2D51U, 17) * 0x1B873593U;
  return hashes_turned(hash ^ word, 19) * 5 + 0xE6546B64U;
}

PENUMBRA_SHADER uint32_t hashes_of_word(uint32_t word) {
  uint32_t sum = 0, mix = 9;
  for (uint32_t byte = 0; byte < 4; ++byte) {
    sum = sum * 0xCC9E2D51U + (uint32_t)(int8_t)(word >> (8 * byte));
    mix ^= sum;
  }
  uint32_t hash = hashes_joined(hashes_joined(mix, 4), sum);
  hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
  return hash ^ hash >> 16;
}

/* Writes the result of view.rounds hashes of each item, each the hash of the previous result. */
PENUMBRA_SHADER void hashes(struct hashes_view view, const uint32_t* word, uint32_t* hash, uint32_t n) {
  foreach (i, n) {
    uint32_t at = word[i];
    for (uint32_t round = 0; round < view.rounds; ++round) at = hashes_of_word(at);
    hash[i] = at;
  }
}

#endif
