/* SPDX-License-Identifier: Apache-2.0
 *
 * AES in CBC mode (NIST SP 800-38A, section 6.2). The caller pads. */
#ifndef PENUMBRA_CRYPTO_AES_CBC_H
#define PENUMBRA_CRYPTO_AES_CBC_H

#include "crypto/aes/block.h"

/* Enciphers `bytes` bytes, a multiple of 16, with an IV of 16 bytes. */
PENUMBRA_SHADER void aes_cbc_encrypt(const struct aes_key* key, const uint8_t* iv, const uint8_t* source,
                                     uint8_t* destination, uint32_t bytes) {
  struct aes_planes planes;
  uint8_t blocks[AES_STATE_BYTES] = {0};
  aes_slice_key(&planes, key);
  copy_bytes(blocks, iv, AES_BLOCK);
  for (uint32_t at = 0; at < bytes; at += AES_BLOCK) {
    struct aes_state state;
    for (uint32_t i = 0; i < AES_BLOCK; ++i) blocks[i] = (uint8_t)(blocks[i] ^ source[at + i]);
    aes_load(&state, blocks);
    aes_encrypt(&planes, &state);
    aes_store(&state, blocks);
    copy_bytes(destination + at, blocks, AES_BLOCK);
  }
}

/* Deciphers. Writes zeros if `mask` is 0 (byte_mask()). */
PENUMBRA_SHADER void aes_cbc_decrypt(const struct aes_key* key, const uint8_t* iv, const uint8_t* source,
                                     uint8_t* destination, uint32_t bytes, uint8_t mask) {
  struct aes_planes planes;
  aes_slice_key(&planes, key);
  for (uint32_t at = 0; at < bytes; at += AES_STATE_BYTES) {
    uint8_t blocks[AES_STATE_BYTES] = {0};
    struct aes_state state;
    uint32_t count = AES_STATE_BYTES;
    if (count > bytes - at) count = bytes - at;
    copy_bytes(blocks, source + at, count);
    aes_load(&state, blocks);
    aes_decrypt(&planes, &state);
    aes_store(&state, blocks);
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t before = i < AES_BLOCK && at == 0 ? iv[i] : source[at + i - AES_BLOCK];
      destination[at + i] = (uint8_t)((blocks[i] ^ before) & mask);
    }
  }
}

#endif
