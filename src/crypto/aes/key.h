/* SPDX-License-Identifier: Apache-2.0
 *
 * The key expansion of AES (FIPS 197, section 5.2), in constant time. */
#ifndef PENUMBRA_CRYPTO_AES_KEY_H
#define PENUMBRA_CRYPTO_AES_KEY_H

#include "crypto/aes/block.h"

/* Replaces four bytes by the S-box. */
PENUMBRA_SHADER void aes_substitute_word(uint8_t* word) {
  uint8_t blocks[AES_STATE_BYTES] = {0};
  struct aes_state state;
  copy_bytes(blocks, word, 4);
  aes_load(&state, blocks);
  aes_substitute(&state);
  aes_store(&state, blocks);
  copy_bytes(word, blocks, 4);
}

/* Expands a key of 16 or 32 bytes. */
PENUMBRA_SHADER void aes_expand(struct aes_key* key, const uint8_t* secret, uint32_t bytes) {
  const uint32_t rounds = bytes / 4 + 6;
  uint8_t constant = 1;
  key->rounds = rounds;
  copy_bytes(key->round_key, secret, bytes);
  for (uint32_t at = bytes; at < 16 * (rounds + 1); at += 4) {
    uint8_t word[4];
    copy_bytes(word, key->round_key + at - 4, 4);
    if (at % bytes == 0) {
      const uint8_t first = word[0];
      word[0] = word[1];
      word[1] = word[2];
      word[2] = word[3];
      word[3] = first;
      aes_substitute_word(word);
      word[0] = (uint8_t)(word[0] ^ constant);
      constant = (uint8_t)(constant << 1 ^ (constant >> 7) * 0x1B);
    } else if (bytes == 32 && at % bytes == 16) {
      aes_substitute_word(word);
    }
    for (uint32_t i = 0; i < 4; ++i) key->round_key[at + i] = (uint8_t)(key->round_key[at + i - bytes] ^ word[i]);
  }
}

#endif
