/* SPDX-License-Identifier: Apache-2.0
 *
 * One packet through one key: enciphering and authentication as one job, in plain constant-time code. This code is the
 * oracle of the faster forms and the last resort of machines without them.
 *
 * A key has a cipher and a digest. Ciphers with an authenticator of their own (GCM, GMAC, ChaCha20-Poly1305) have no
 * digest. With a digest, the packet is enciphered first, and the tag is that of the bytes before it, its ciphertext and
 * the bytes after it, as in ESP (RFC 4303, section 3.3.2). Source and destination are different memory, so that a
 * packet can be processed again from intact input. cipher_open() writes zeros in place of a payload whose tag is wrong:
 * no byte of it can be used by mistake. */
#ifndef PENUMBRA_CRYPTO_CIPHER_H
#define PENUMBRA_CRYPTO_CIPHER_H

#include "crypto/aes/cbc.h"
#include "crypto/aes/gcm.h"
#include "crypto/chacha20_poly1305/aead.h"
#include "crypto/hmac/hmac.h"

enum cipher_algorithm {
  CIPHER_NONE, /* copies the payload */
  CIPHER_AES_CBC,
  CIPHER_AES_CTR,
  CIPHER_AES_GCM,
  CIPHER_AES_GMAC, /* copies the payload */
  CIPHER_CHACHA20_POLY1305
};

enum { CIPHER_SALT = 4 /* bytes */, CIPHER_IV = 8 /* bytes of an IV in ESP */, CIPHER_MOST_TAG = HMAC_MOST_TAG };

/* An expanded key of 384 bytes, an element of a secret table. */
struct cipher_key {
  uint8_t cipher;            /* enum cipher_algorithm */
  uint8_t digest;            /* enum hmac_digest, or 0 */
  uint8_t tag_bytes;         /* that a packet carries of the full tag */
  uint8_t is_set;            /* 1, or 0 if there is no key */
  uint8_t salt[CIPHER_SALT]; /* first bytes of the nonces in ESP */
  union {
    struct aes_key aes;
    uint8_t chacha20[CHACHA20_KEY];
  } secret;
  union {
    struct hmac_key hmac;
    uint8_t gcm[AES_GCM_TAG];
  } authentication;
};

struct cipher_packet {
  const uint8_t* source; /* `bytes` bytes of payload */
  uint8_t* destination;
  const uint8_t* nonce;        /* CBC: the IV of 16 bytes; CTR and ChaCha20: 12 bytes; GCM, GMAC: any bytes */
  const uint8_t* aad;          /* authenticated bytes before the payload */
  const uint8_t* trailer;      /* authenticated bytes after the payload, with a digest only */
  const uint8_t* received_tag; /* compared by cipher_open() */
  uint8_t* tag;                /* written by cipher_seal() */
  uint32_t bytes, nonce_bytes, aad_bytes, trailer_bytes;
  uint32_t key; /* number of the key, for functions over several packets */
};

/* Makes the nonce of a packet in ESP: the key's salt and the IV that the packet carries. */
PENUMBRA_SHADER void cipher_esp_nonce(const struct cipher_key* key, const uint8_t* iv, uint8_t* nonce) {
  copy_bytes(nonce, key->salt, CIPHER_SALT);
  copy_bytes(nonce + CIPHER_SALT, iv, CIPHER_IV);
}

/* Returns 1 if a key with this cipher can process a packet with such lengths, otherwise 0. */
PENUMBRA_SHADER uint32_t cipher_fits(uint32_t cipher, const struct cipher_packet* packet) {
  switch (cipher) {
    case CIPHER_AES_CBC:
      return packet->nonce_bytes == AES_BLOCK && packet->bytes % AES_BLOCK == 0;
    case CIPHER_AES_CTR:
      return packet->nonce_bytes == AES_CTR_NONCE;
    case CIPHER_AES_GCM:
    case CIPHER_AES_GMAC:
      return packet->nonce_bytes != 0 && packet->trailer_bytes == 0;
    case CIPHER_CHACHA20_POLY1305:
      return packet->nonce_bytes == CHACHA20_NONCE && packet->trailer_bytes == 0;
    default:
      return 1;
  }
}

/* Makes the full tag of a payload, its own or its ciphertext, that the cipher does not authenticate. */
PENUMBRA_SHADER void cipher_authenticate(const struct cipher_key* key, const struct cipher_packet* packet,
                                         const uint8_t* payload, uint8_t* tag) {
  if (key->cipher == CIPHER_AES_GMAC) {
    aes_gmac(&key->secret.aes, key->authentication.gcm, packet->nonce, packet->nonce_bytes, packet->aad,
             packet->aad_bytes, payload, packet->bytes, tag);
  } else if (key->digest != 0) {
    hmac(&key->authentication.hmac, key->digest, packet->aad, packet->aad_bytes, payload, packet->bytes,
         packet->trailer, packet->trailer_bytes, tag);
  }
}

/* Enciphers the payload and writes the tag. Returns 1, or 0 without writing anything if the key cannot process such a
 * packet. */
PENUMBRA_SHADER uint32_t cipher_seal(const struct cipher_key* key, const struct cipher_packet* packet) {
  uint8_t tag[CIPHER_MOST_TAG];
  if (cipher_fits(key->cipher, packet) == 0) return 0;
  switch (key->cipher) {
    case CIPHER_AES_GCM:
      aes_gcm_seal(&key->secret.aes, key->authentication.gcm, packet->nonce, packet->nonce_bytes, packet->aad,
                   packet->aad_bytes, packet->source, packet->destination, packet->bytes, tag);
      break;
    case CIPHER_CHACHA20_POLY1305:
      chacha20_poly1305_seal(key->secret.chacha20, packet->nonce, packet->aad, packet->aad_bytes, packet->source,
                             packet->destination, packet->bytes, tag);
      break;
    case CIPHER_AES_CBC:
      aes_cbc_encrypt(&key->secret.aes, packet->nonce, packet->source, packet->destination, packet->bytes);
      break;
    case CIPHER_AES_CTR:
      aes_ctr(&key->secret.aes, packet->nonce, packet->source, packet->destination, packet->bytes, 0xFF);
      break;
    default:
      copy_bytes(packet->destination, packet->source, packet->bytes);
  }
  cipher_authenticate(key, packet, packet->destination, tag);
  copy_bytes(packet->tag, tag, key->tag_bytes);
  return 1;
}

/* Compares the tag and deciphers the payload. Returns 1, or 0 and zeros in place of the payload if the tag is wrong or
 * the key cannot process such a packet. */
PENUMBRA_SHADER uint32_t cipher_open(const struct cipher_key* key, const struct cipher_packet* packet) {
  uint8_t tag[CIPHER_MOST_TAG];
  if (cipher_fits(key->cipher, packet) == 0) {
    copy_masked(packet->destination, packet->source, packet->bytes, 0);
    return 0;
  }
  if (key->cipher == CIPHER_AES_GCM) {
    return aes_gcm_open(&key->secret.aes, key->authentication.gcm, packet->nonce, packet->nonce_bytes, packet->aad,
                        packet->aad_bytes, packet->source, packet->destination, packet->bytes, packet->received_tag,
                        key->tag_bytes);
  }
  if (key->cipher == CIPHER_CHACHA20_POLY1305) {
    return chacha20_poly1305_open(key->secret.chacha20, packet->nonce, packet->aad, packet->aad_bytes, packet->source,
                                  packet->destination, packet->bytes, packet->received_tag, key->tag_bytes);
  }
  cipher_authenticate(key, packet, packet->source, tag);
  const uint32_t is_right = equal_bytes(tag, packet->received_tag, key->tag_bytes);
  const uint8_t mask = byte_mask(is_right);
  if (key->cipher == CIPHER_AES_CBC) {
    aes_cbc_decrypt(&key->secret.aes, packet->nonce, packet->source, packet->destination, packet->bytes, mask);
  } else if (key->cipher == CIPHER_AES_CTR) {
    aes_ctr(&key->secret.aes, packet->nonce, packet->source, packet->destination, packet->bytes, mask);
  } else {
    copy_masked(packet->destination, packet->source, packet->bytes, mask);
  }
  return is_right;
}

#endif
