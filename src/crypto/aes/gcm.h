/* SPDX-License-Identifier: Apache-2.0
 *
 * AES-GCM and GMAC (NIST SP 800-38D; ESP: RFC 4106, RFC 4543). */
#ifndef PENUMBRA_CRYPTO_AES_GCM_H
#define PENUMBRA_CRYPTO_AES_GCM_H

#include "crypto/aes/ctr.h"
#include "crypto/aes/ghash.h"

enum { AES_GCM_TAG = 16 /* bytes of a full tag */ };

/* A packet in work. */
struct aes_gcm {
  struct aes_planes planes;
  struct aes_stream stream;
  struct ghash hash;
  uint8_t mask[AES_GCM_TAG]; /* is added to the hash */
};

/* Makes the block before the first counter (section 7.1): a nonce of 12 bytes and 1, or the hash of another nonce. */
PENUMBRA_SHADER void aes_gcm_begin(struct aes_gcm* gcm, const struct aes_key* key, const uint8_t* hash_key,
                                   const uint8_t* nonce, uint32_t nonce_bytes) {
  uint8_t block[16] = {0};
  aes_slice_key(&gcm->planes, key);
  ghash_begin(&gcm->hash, hash_key);
  if (nonce_bytes == AES_CTR_NONCE) {
    copy_bytes(block, nonce, AES_CTR_NONCE);
    block[15] = 1;
  } else {
    struct ghash hash = gcm->hash;
    ghash_add(&hash, nonce, nonce_bytes);
    ghash_add_lengths(&hash, 0, nonce_bytes);
    ghash_value(&hash, block);
  }
  aes_stream_begin(&gcm->planes, &gcm->stream, block, read_be32(block + AES_CTR_NONCE));
  copy_bytes(gcm->mask, aes_stream_take(&gcm->stream, AES_GCM_TAG), AES_GCM_TAG);
}

/* Makes the full tag from the hash of everything else. */
PENUMBRA_SHADER void aes_gcm_end(struct aes_gcm* gcm, uint32_t aad_bytes, uint32_t bytes, uint8_t* tag) {
  ghash_add_lengths(&gcm->hash, aad_bytes, bytes);
  ghash_value(&gcm->hash, tag);
  for (uint32_t i = 0; i < AES_GCM_TAG; ++i) tag[i] = (uint8_t)(tag[i] ^ gcm->mask[i]);
}

/* Enciphers a packet and makes its full tag. `hash_key` is the encrypted block of zeros. */
PENUMBRA_SHADER void aes_gcm_seal(const struct aes_key* key, const uint8_t* hash_key, const uint8_t* nonce,
                                  uint32_t nonce_bytes, const uint8_t* aad, uint32_t aad_bytes, const uint8_t* source,
                                  uint8_t* destination, uint32_t bytes, uint8_t* tag) {
  struct aes_gcm gcm;
  aes_gcm_begin(&gcm, key, hash_key, nonce, nonce_bytes);
  aes_stream_apply(&gcm.planes, &gcm.stream, source, destination, bytes, 0xFF);
  ghash_add(&gcm.hash, aad, aad_bytes);
  ghash_add(&gcm.hash, destination, bytes);
  aes_gcm_end(&gcm, aad_bytes, bytes, tag);
}

/* Deciphers a packet. Returns 1, or 0 and zeros in place of the payload if the first `tag_bytes` bytes of the tag
 * differ. */
PENUMBRA_SHADER uint32_t aes_gcm_open(const struct aes_key* key, const uint8_t* hash_key, const uint8_t* nonce,
                                      uint32_t nonce_bytes, const uint8_t* aad, uint32_t aad_bytes,
                                      const uint8_t* source, uint8_t* destination, uint32_t bytes, const uint8_t* tag,
                                      uint32_t tag_bytes) {
  struct aes_gcm gcm;
  uint8_t right[AES_GCM_TAG];
  aes_gcm_begin(&gcm, key, hash_key, nonce, nonce_bytes);
  ghash_add(&gcm.hash, aad, aad_bytes);
  ghash_add(&gcm.hash, source, bytes);
  aes_gcm_end(&gcm, aad_bytes, bytes, right);
  const uint32_t is_right = equal_bytes(right, tag, tag_bytes);
  aes_stream_apply(&gcm.planes, &gcm.stream, source, destination, bytes, byte_mask(is_right));
  return is_right;
}

/* Adds two pieces of data as if they were one. */
PENUMBRA_SHADER void ghash_add_both(struct ghash* hash, const uint8_t* first, uint32_t first_bytes,
                                    const uint8_t* second, uint32_t second_bytes) {
  const uint32_t whole = first_bytes & ~15U, rest = first_bytes & 15U;
  uint8_t block[16] = {0};
  uint32_t taken = 0;
  ghash_add(hash, first, whole);
  if (rest != 0) {
    taken = second_bytes < 16 - rest ? second_bytes : 16 - rest;
    copy_bytes(block, first + whole, rest);
    copy_bytes(block + rest, second, taken);
    ghash_add_block(hash, block);
  }
  ghash_add(hash, second + taken, second_bytes - taken);
}

/* Makes the full tag of `aad` and the payload together, of which nothing is enciphered (RFC 4543, section 3). */
PENUMBRA_SHADER void aes_gmac(const struct aes_key* key, const uint8_t* hash_key, const uint8_t* nonce,
                              uint32_t nonce_bytes, const uint8_t* aad, uint32_t aad_bytes, const uint8_t* payload,
                              uint32_t bytes, uint8_t* tag) {
  struct aes_gcm gcm;
  aes_gcm_begin(&gcm, key, hash_key, nonce, nonce_bytes);
  ghash_add_both(&gcm.hash, aad, aad_bytes, payload, bytes);
  aes_gcm_end(&gcm, aad_bytes + bytes, 0, tag);
}

/* Makes the hash key of an AES key: the encrypted block of zeros. */
PENUMBRA_SHADER void aes_gcm_hash_key(const struct aes_key* key, uint8_t* hash_key) {
  struct aes_planes planes;
  struct aes_state state;
  uint8_t blocks[AES_STATE_BYTES] = {0};
  aes_slice_key(&planes, key);
  aes_load(&state, blocks);
  aes_encrypt(&planes, &state);
  aes_store(&state, blocks);
  copy_bytes(hash_key, blocks, AES_GCM_TAG);
}

#endif
