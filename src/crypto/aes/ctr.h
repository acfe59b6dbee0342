/* SPDX-License-Identifier: Apache-2.0
 *
 * AES in counter mode (NIST SP 800-38A, section 6.5) as ESP and GCM use it: the counter is the last four bytes of a
 * block, in network order, and wraps alone (RFC 3686, section 4; NIST SP 800-38D, section 6.2). */
#ifndef PENUMBRA_CRYPTO_AES_CTR_H
#define PENUMBRA_CRYPTO_AES_CTR_H

#include "crypto/aes/block.h"

enum { AES_CTR_NONCE = 12 /* bytes of a counter block without the counter */ };

/* The key stream of one packet. */
struct aes_stream {
  uint8_t bytes[AES_STATE_BYTES]; /* made at once */
  uint32_t used;                  /* bytes of them that are used up */
  uint32_t counter;               /* of the next block to make */
  uint8_t nonce[AES_CTR_NONCE];
};

PENUMBRA_SHADER void aes_stream_refill(const struct aes_planes* key, struct aes_stream* stream) {
  struct aes_state state;
  uint8_t* block = stream->bytes;
  for (uint32_t b = 0; b < AES_BLOCKS; ++b, block += AES_BLOCK) {
    copy_bytes(block, stream->nonce, AES_CTR_NONCE);
    write_be32(block + AES_CTR_NONCE, stream->counter + b);
  }
  aes_load(&state, stream->bytes);
  aes_encrypt(key, &state);
  aes_store(&state, stream->bytes);
  stream->used = 0;
  stream->counter += AES_BLOCKS;
}

/* Begins the key stream of a nonce with the block of this counter. */
PENUMBRA_SHADER void aes_stream_begin(const struct aes_planes* key, struct aes_stream* stream, const uint8_t* nonce,
                                      uint32_t counter) {
  copy_bytes(stream->nonce, nonce, AES_CTR_NONCE);
  stream->counter = counter;
  aes_stream_refill(key, stream);
}

/* Takes the next `bytes` bytes of the key stream, fewer than it has left. */
PENUMBRA_SHADER const uint8_t* aes_stream_take(struct aes_stream* stream, uint32_t bytes) {
  const uint8_t* taken = stream->bytes + stream->used;
  stream->used += bytes;
  return taken;
}

/* Enciphers or deciphers. Writes zeros if `mask` is 0 (byte_mask()). */
PENUMBRA_SHADER void aes_stream_apply(const struct aes_planes* key, struct aes_stream* stream, const uint8_t* source,
                                      uint8_t* destination, uint32_t bytes, uint8_t mask) {
  for (uint32_t at = 0, count = 0; at < bytes; at += count) {
    if (stream->used == AES_STATE_BYTES) aes_stream_refill(key, stream);
    count = AES_STATE_BYTES - stream->used;
    if (count > bytes - at) count = bytes - at;
    const uint8_t* taken = aes_stream_take(stream, count);
    for (uint32_t i = 0; i < count; ++i) destination[at + i] = (uint8_t)((source[at + i] ^ taken[i]) & mask);
  }
}

/* Enciphers or deciphers a packet. The first block has the counter 1 (RFC 3686). */
PENUMBRA_SHADER void aes_ctr(const struct aes_key* key, const uint8_t* nonce, const uint8_t* source,
                             uint8_t* destination, uint32_t bytes, uint8_t mask) {
  struct aes_planes planes;
  struct aes_stream stream;
  aes_slice_key(&planes, key);
  aes_stream_begin(&planes, &stream, nonce, 1);
  aes_stream_apply(&planes, &stream, source, destination, bytes, mask);
}

#endif
