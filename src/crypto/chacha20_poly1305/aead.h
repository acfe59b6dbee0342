/* SPDX-License-Identifier: Apache-2.0
 *
 * The AEAD ChaCha20-Poly1305 (RFC 8439, section 2.8; ESP: RFC 7634). */
#ifndef PENUMBRA_CRYPTO_CHACHA20_POLY1305_H
#define PENUMBRA_CRYPTO_CHACHA20_POLY1305_H

#include "crypto/chacha20_poly1305/chacha20.h"
#include "crypto/chacha20_poly1305/poly1305.h"

/* Begins a packet. The first block of the key stream has the key of the authenticator, and the rest of the block is not
 * used. */
PENUMBRA_SHADER void chacha20_poly1305_begin(struct chacha20* stream, struct poly1305* mac, const uint8_t* key,
                                             const uint8_t* nonce) {
  chacha20_begin(stream, key, nonce);
  poly1305_begin(mac, chacha20_take(stream, CHACHA20_BLOCK));
}

/* Makes the full tag of a packet. */
PENUMBRA_SHADER void chacha20_poly1305_end(struct poly1305* mac, const uint8_t* aad, uint32_t aad_bytes,
                                           const uint8_t* ciphertext, uint32_t bytes, uint8_t* tag) {
  uint8_t lengths[POLY1305_BLOCK];
  poly1305_add(mac, aad, aad_bytes);
  poly1305_add(mac, ciphertext, bytes);
  write_le64(lengths, aad_bytes);
  write_le64(lengths + 8, bytes);
  poly1305_add_block(mac, lengths);
  poly1305_end(mac, tag);
}

/* Enciphers a packet and makes its full tag. */
PENUMBRA_SHADER void chacha20_poly1305_seal(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad,
                                            uint32_t aad_bytes, const uint8_t* source, uint8_t* destination,
                                            uint32_t bytes, uint8_t* tag) {
  struct chacha20 stream;
  struct poly1305 mac;
  chacha20_poly1305_begin(&stream, &mac, key, nonce);
  chacha20_apply(&stream, source, destination, bytes, 0xFF);
  chacha20_poly1305_end(&mac, aad, aad_bytes, destination, bytes, tag);
}

/* Deciphers a packet. Returns 1, or 0 and zeros in place of the payload if the first `tag_bytes` bytes of the tag
 * differ. */
PENUMBRA_SHADER uint32_t chacha20_poly1305_open(const uint8_t* key, const uint8_t* nonce, const uint8_t* aad,
                                                uint32_t aad_bytes, const uint8_t* source, uint8_t* destination,
                                                uint32_t bytes, const uint8_t* tag, uint32_t tag_bytes) {
  struct chacha20 stream;
  struct poly1305 mac;
  uint8_t right[POLY1305_TAG];
  chacha20_poly1305_begin(&stream, &mac, key, nonce);
  chacha20_poly1305_end(&mac, aad, aad_bytes, source, bytes, right);
  const uint32_t is_right = equal_bytes(right, tag, tag_bytes);
  chacha20_apply(&stream, source, destination, bytes, byte_mask(is_right));
  return is_right;
}

#endif
