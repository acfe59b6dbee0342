/* SPDX-License-Identifier: Apache-2.0
 *
 * The AES block cipher (FIPS 197), bitsliced: no table is looked up with secret data, so the time depends on the number
 * of blocks only.
 *
 * A state is eight planes. Plane i has bit i of every byte of the blocks. A word of a plane has four blocks, and
 * AES_LANES words are processed by one loop, which compilers turn into vector instructions. In a word, the byte of row
 * r and column c of block b is at bit 16 r + 4 c + b. So a row is 16 adjacent bits: ShiftRows rotates within the rows,
 * and MixColumns combines words that are rotated by whole rows. */
#ifndef PENUMBRA_CRYPTO_AES_BLOCK_H
#define PENUMBRA_CRYPTO_AES_BLOCK_H

#include "crypto/aes/sbox.h"
#include "crypto/bytes.h"

enum {
  AES_BLOCK = 16,                            /* bytes */
  AES_BLOCKS = 4 * AES_LANES,                /* blocks of a state */
  AES_STATE_BYTES = AES_BLOCKS * 16,         /* bytes of the blocks of a state */
  AES_MOST_ROUNDS = 14,                      /* of a key of 32 bytes */
  AES_KEY_BYTES = 16 * (AES_MOST_ROUNDS + 1) /* bytes of the longest expanded key */
};

/* Round keys in the order of FIPS 197, section 5.2. */
struct aes_key {
  uint8_t round_key[AES_KEY_BYTES];
  uint32_t rounds; /* 10 or 14 */
};

/* Round keys as planes. Every block has the same round key, so one word serves all lanes. */
struct aes_planes {
  uint64_t plane[AES_MOST_ROUNDS + 1][8];
  uint32_t rounds;
};

/* Moves the bytes of a 32-bit word to the even bytes of a 64-bit word. */
PENUMBRA_SHADER uint64_t aes_spread(uint32_t word) {
  const uint64_t halves = (word | (uint64_t)word << 16) & 0x0000FFFF0000FFFFU;
  return (halves | halves << 8) & 0x00FF00FF00FF00FFU;
}

/* Inverts aes_spread(). Ignores the odd bytes. */
PENUMBRA_SHADER uint32_t aes_gather(uint64_t word) {
  const uint64_t bytes = word & 0x00FF00FF00FF00FFU;
  const uint64_t halves = (bytes | bytes >> 8) & 0x0000FFFF0000FFFFU;
  return (uint32_t)(halves | halves >> 16);
}

/* Exchanges, in every byte, bit i of word k with bit k of word i. Inverts itself. */
PENUMBRA_SHADER void aes_transpose(struct aes_state* state) {
  const uint64_t masks[3] = {0x5555555555555555U, 0x3333333333333333U, 0x0F0F0F0F0F0F0F0FU};
  for (uint32_t step = 0; step < 3; ++step) {
    const uint32_t distance = 1U << step;
    for (uint32_t k = 0; k < 8; ++k) {
      if ((k & distance) != 0) continue;
      for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
        const uint64_t low = state->plane[k][lane], high = state->plane[k + distance][lane];
        const uint64_t swapped = (low >> distance ^ high) & masks[step];
        state->plane[k + distance][lane] = high ^ swapped;
        state->plane[k][lane] = low ^ swapped << distance;
      }
    }
  }
}

/* Reads AES_BLOCKS blocks. */
PENUMBRA_SHADER void aes_load(struct aes_state* state, const uint8_t* blocks) {
  const uint8_t* block = blocks;
  for (uint32_t b = 0; b < AES_BLOCKS; ++b, block += AES_BLOCK) {
    state->plane[b % 4][b / 4] = aes_spread(read_le32(block)) | aes_spread(read_le32(block + 8)) << 8;
    state->plane[4 + b % 4][b / 4] = aes_spread(read_le32(block + 4)) | aes_spread(read_le32(block + 12)) << 8;
  }
  aes_transpose(state);
}

/* Writes AES_BLOCKS blocks. Destroys the state. */
PENUMBRA_SHADER void aes_store(struct aes_state* state, uint8_t* blocks) {
  uint8_t* block = blocks;
  aes_transpose(state);
  for (uint32_t b = 0; b < AES_BLOCKS; ++b, block += AES_BLOCK) {
    const uint64_t even = state->plane[b % 4][b / 4], odd = state->plane[4 + b % 4][b / 4];
    write_le32(block, aes_gather(even));
    write_le32(block + 4, aes_gather(odd));
    write_le32(block + 8, aes_gather(even >> 8));
    write_le32(block + 12, aes_gather(odd >> 8));
  }
}

PENUMBRA_SHADER void aes_add_round_key(struct aes_state* state, const uint64_t* plane) {
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t lane = 0; lane < AES_LANES; ++lane) state->plane[i][lane] ^= plane[i];
  }
}

/* Rotates row r by r columns. */
PENUMBRA_SHADER void aes_shift_rows(struct aes_state* state) {
  // NOLINTNEXTLINE(modernize-loop-convert): C has no such loop
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
      const uint64_t x = state->plane[i][lane];
      state->plane[i][lane] = (x & 0x000000000000FFFFU) | (x & 0x00000000FFF00000U) >> 4 |
                              (x & 0x00000000000F0000U) << 12 | (x & 0x0000FF0000000000U) >> 8 |
                              (x & 0x000000FF00000000U) << 8 | (x & 0xF000000000000000U) >> 12 |
                              (x & 0x0FFF000000000000U) << 4;
    }
  }
}

PENUMBRA_SHADER void aes_inverse_shift_rows(struct aes_state* state) {
  // NOLINTNEXTLINE(modernize-loop-convert): C has no such loop
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
      const uint64_t x = state->plane[i][lane];
      state->plane[i][lane] = (x & 0x000000000000FFFFU) | (x & 0x000000000FFF0000U) << 4 |
                              (x & 0x00000000F0000000U) >> 12 | (x & 0x000000FF00000000U) << 8 |
                              (x & 0x0000FF0000000000U) >> 8 | (x & 0x000F000000000000U) << 12 |
                              (x & 0xFFF0000000000000U) >> 4;
    }
  }
}

/* Multiplies every column by the polynomial of FIPS 197, section 5.1.3: a byte becomes 2 (a + b) + b + (c + d), where
 * b, c and d are the next bytes of its column. */
PENUMBRA_SHADER void aes_mix_columns(struct aes_state* state) {
  for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
    uint64_t next[8], sum[8];
    for (uint32_t i = 0; i < 8; ++i) {
      const uint64_t x = state->plane[i][lane];
      next[i] = x >> 16 | x << 48;
      sum[i] = x ^ next[i];
    }
    for (uint32_t i = 0; i < 8; ++i) {
      const uint64_t doubled = sum[(i + 7) % 8] ^ (i == 1 || i == 3 || i == 4 ? sum[7] : 0);
      state->plane[i][lane] = doubled ^ next[i] ^ (sum[i] >> 32 | sum[i] << 32);
    }
  }
}

/* The inverse polynomial is that of aes_mix_columns() times {4} x^2 + {5}. */
PENUMBRA_SHADER void aes_inverse_mix_columns(struct aes_state* state) {
  for (uint32_t lane = 0; lane < AES_LANES; ++lane) {
    uint64_t sum[8];
    for (uint32_t i = 0; i < 8; ++i) {
      const uint64_t x = state->plane[i][lane];
      sum[i] = x ^ (x >> 32 | x << 32);
    }
    const uint64_t top = sum[6] ^ sum[7];
    state->plane[0][lane] ^= sum[6];
    state->plane[1][lane] ^= top;
    state->plane[2][lane] ^= sum[0] ^ sum[7];
    state->plane[3][lane] ^= sum[1] ^ sum[6];
    state->plane[4][lane] ^= sum[2] ^ top;
    state->plane[5][lane] ^= sum[3] ^ sum[7];
    state->plane[6][lane] ^= sum[4];
    state->plane[7][lane] ^= sum[5];
  }
  aes_mix_columns(state);
}

/* Makes the planes of an expanded key. Loads the round keys as if they were blocks, then repeats the bits of each. */
PENUMBRA_SHADER void aes_slice_key(struct aes_planes* planes, const struct aes_key* key) {
  uint8_t blocks[16 * (AES_MOST_ROUNDS + 2)] = {0};
  copy_bytes(blocks, key->round_key, AES_KEY_BYTES);
  planes->rounds = key->rounds;
  const uint8_t* block = blocks;
  for (uint32_t first = 0; first <= key->rounds; first += AES_BLOCKS, block += AES_STATE_BYTES) {
    struct aes_state state;
    aes_load(&state, block);
    for (uint32_t b = 0; b < AES_BLOCKS && first + b <= key->rounds; ++b) {
      for (uint32_t i = 0; i < 8; ++i) {
        planes->plane[first + b][i] = (state.plane[i][b / 4] >> (b % 4) & 0x1111111111111111U) * 15;
      }
    }
  }
}

PENUMBRA_SHADER void aes_encrypt(const struct aes_planes* key, struct aes_state* state) {
  aes_add_round_key(state, key->plane[0]);
  for (uint32_t round = 1; round < key->rounds; ++round) {
    aes_substitute(state);
    aes_shift_rows(state);
    aes_mix_columns(state);
    aes_add_round_key(state, key->plane[round]);
  }
  aes_substitute(state);
  aes_shift_rows(state);
  aes_add_round_key(state, key->plane[key->rounds]);
}

PENUMBRA_SHADER void aes_decrypt(const struct aes_planes* key, struct aes_state* state) {
  aes_add_round_key(state, key->plane[key->rounds]);
  for (uint32_t round = key->rounds - 1; round > 0; --round) {
    aes_inverse_shift_rows(state);
    aes_inverse_substitute(state);
    aes_add_round_key(state, key->plane[round]);
    aes_inverse_mix_columns(state);
  }
  aes_inverse_shift_rows(state);
  aes_inverse_substitute(state);
  aes_add_round_key(state, key->plane[0]);
}

#endif
