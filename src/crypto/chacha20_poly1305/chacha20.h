/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream cipher ChaCha20 (RFC 8439, section 2.4). Several blocks are made at once, by loops over CHACHA20_LANES
 * that compilers turn into vector instructions. */
#ifndef PENUMBRA_CRYPTO_CHACHA20_H
#define PENUMBRA_CRYPTO_CHACHA20_H

#include "crypto/bytes.h"

/* Blocks made at once: eight 32-bit words are a vector register of AVX2. A thread of a GPU has no vectors. */
#if defined(__CUDA_ARCH__) || defined(__OPENCL_VERSION__)
#define CHACHA20_LANES 1
#else
#define CHACHA20_LANES 8
#endif

enum {
  CHACHA20_KEY = 32,   /* bytes */
  CHACHA20_NONCE = 12, /* bytes */
  CHACHA20_BLOCK = 64, /* bytes */
  CHACHA20_MADE = CHACHA20_BLOCK * CHACHA20_LANES
};

/* The key stream of one packet. */
struct chacha20 {
  uint32_t input[16];           /* of the next block to make; word 12 is the counter */
  uint8_t bytes[CHACHA20_MADE]; /* made at once */
  uint32_t used;                /* bytes of them that are used up */
};

struct chacha20_state {
  uint32_t word[16][CHACHA20_LANES];
};

PENUMBRA_SHADER uint32_t chacha20_rotate(uint32_t x, uint32_t bits) {
  return x << bits | x >> (32 - bits);
}

/* The quarter round of section 2.1 on the words a, b, c and d of every lane. */
PENUMBRA_SHADER void chacha20_quarter(struct chacha20_state* state, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  for (uint32_t lane = 0; lane < CHACHA20_LANES; ++lane) {
    uint32_t w = state->word[a][lane], x = state->word[b][lane], y = state->word[c][lane], z = state->word[d][lane];
    w += x;
    z = chacha20_rotate(z ^ w, 16);
    y += z;
    x = chacha20_rotate(x ^ y, 12);
    w += x;
    z = chacha20_rotate(z ^ w, 8);
    y += z;
    x = chacha20_rotate(x ^ y, 7);
    state->word[a][lane] = w;
    state->word[b][lane] = x;
    state->word[c][lane] = y;
    state->word[d][lane] = z;
  }
}

PENUMBRA_SHADER void chacha20_refill(struct chacha20* stream) {
  struct chacha20_state first, state;
  for (uint32_t i = 0; i < 16; ++i) {
    for (uint32_t lane = 0; lane < CHACHA20_LANES; ++lane) {
      first.word[i][lane] = stream->input[i] + (i == 12 ? lane : 0);
    }
  }
  state = first;
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 4; ++i) chacha20_quarter(&state, i, 4 + i, 8 + i, 12 + i);
    for (uint32_t i = 0; i < 4; ++i) {
      chacha20_quarter(&state, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  uint8_t* to = stream->bytes;
  for (uint32_t lane = 0; lane < CHACHA20_LANES; ++lane) {
    for (uint32_t i = 0; i < 16; ++i, to += 4) write_le32(to, state.word[i][lane] + first.word[i][lane]);
  }
  stream->input[12] += CHACHA20_LANES;
  stream->used = 0;
}

/* Begins the key stream of a nonce with the block of counter 0. */
PENUMBRA_SHADER void chacha20_begin(struct chacha20* stream, const uint8_t* key, const uint8_t* nonce) {
  stream->input[0] = 0x61707865;
  stream->input[1] = 0x3320646E;
  stream->input[2] = 0x79622D32;
  stream->input[3] = 0x6B206574;
  read_le32_words(stream->input + 4, key, 8);
  stream->input[12] = 0;
  read_le32_words(stream->input + 13, nonce, 3);
  chacha20_refill(stream);
}

/* Takes the next `bytes` bytes of the key stream, no more than it has left. */
PENUMBRA_SHADER const uint8_t* chacha20_take(struct chacha20* stream, uint32_t bytes) {
  const uint8_t* taken = stream->bytes + stream->used;
  stream->used += bytes;
  return taken;
}

/* Enciphers or deciphers. Writes zeros if `mask` is 0 (byte_mask()). */
PENUMBRA_SHADER void chacha20_apply(struct chacha20* stream, const uint8_t* source, uint8_t* destination,
                                    uint32_t bytes, uint8_t mask) {
  for (uint32_t at = 0, count = 0; at < bytes; at += count) {
    if (stream->used == CHACHA20_MADE) chacha20_refill(stream);
    count = CHACHA20_MADE - stream->used;
    if (count > bytes - at) count = bytes - at;
    const uint8_t* taken = chacha20_take(stream, count);
    for (uint32_t i = 0; i < count; ++i) destination[at + i] = (uint8_t)((source[at + i] ^ taken[i]) & mask);
  }
}

#endif
