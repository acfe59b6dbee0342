/* SPDX-License-Identifier: Apache-2.0
 *
 * HMAC (RFC 2104) with SHA-1, SHA-256, SHA-384 and SHA-512 (ESP: RFC 2404, RFC 4868). A key keeps the states of the
 * inner and the outer digest after their first blocks, which depend on the key only. */
#ifndef PENUMBRA_CRYPTO_HMAC_H
#define PENUMBRA_CRYPTO_HMAC_H

#include "crypto/hmac/message.h"
#include "crypto/sha1/sha1.h"
#include "crypto/sha2/sha256.h"
#include "crypto/sha2/sha512.h"

enum hmac_digest { HMAC_SHA1 = 1, HMAC_SHA256, HMAC_SHA384, HMAC_SHA512 };

enum { HMAC_MOST_TAG = 64 /* bytes of the longest full tag */ };

/* A state of a digest. SHA-1 and SHA-256 use the lower halves of the words. */
struct digest_state {
  uint64_t word[8];
};

struct hmac_key {
  struct digest_state inner, outer;
};

/* Returns the bytes of a full tag. */
PENUMBRA_SHADER uint32_t hmac_tag_bytes(uint32_t digest) {
  if (digest == HMAC_SHA1) return SHA1_DIGEST;
  if (digest == HMAC_SHA256) return SHA256_DIGEST;
  if (digest == HMAC_SHA384) return SHA384_DIGEST;
  return SHA512_DIGEST;
}

/* Returns 1 if the digest has 64-bit words and blocks of 128 bytes. */
PENUMBRA_SHADER uint32_t digest_is_wide(uint32_t digest) {
  return digest == HMAC_SHA384 || digest == HMAC_SHA512;
}

/* Returns the bytes of a block. */
PENUMBRA_SHADER uint32_t digest_block(uint32_t digest) {
  if (digest_is_wide(digest)) return SHA512_BLOCK;
  return SHA256_BLOCK;
}

PENUMBRA_SHADER void digest_begin(uint32_t digest, struct digest_state* state) {
  uint32_t narrow[SHA256_WORDS] = {0};
  if (digest == HMAC_SHA384) sha384_begin(state->word);
  if (digest == HMAC_SHA512) sha512_begin(state->word);
  if (digest_is_wide(digest)) return;
  if (digest == HMAC_SHA1) sha1_begin(narrow);
  if (digest == HMAC_SHA256) sha256_begin(narrow);
  for (uint32_t i = 0; i < SHA256_WORDS; ++i) state->word[i] = narrow[i];
}

/* Adds the first `blocks` blocks of a message. */
PENUMBRA_SHADER void digest_add(uint32_t digest, struct digest_state* state, const struct message* message,
                                uint32_t blocks) {
  uint8_t room[MESSAGE_MOST_BLOCK];
  uint32_t narrow[SHA256_WORDS];
  if (digest_is_wide(digest)) {
    for (uint32_t i = 0; i < blocks; ++i) sha512_add_block(state->word, message_at(message, i, room));
    return;
  }
  for (uint32_t i = 0; i < SHA256_WORDS; ++i) narrow[i] = (uint32_t)state->word[i];
  if (digest == HMAC_SHA1) {
    for (uint32_t i = 0; i < blocks; ++i) sha1_add_block(narrow, message_at(message, i, room));
  } else {
    for (uint32_t i = 0; i < blocks; ++i) sha256_add_block(narrow, message_at(message, i, room));
  }
  for (uint32_t i = 0; i < SHA256_WORDS; ++i) state->word[i] = narrow[i];
}

/* Adds a message to its end and writes the digest, of hmac_tag_bytes() bytes. */
PENUMBRA_SHADER void digest_end(uint32_t digest, struct digest_state* state, const struct message* message,
                                uint8_t* value) {
  const uint32_t bytes = hmac_tag_bytes(digest);
  digest_add(digest, state, message, message_blocks(message));
  if (digest_is_wide(digest)) {
    for (uint32_t i = 0; i < bytes / 8; ++i, value += 8) write_be64(value, state->word[i]);
  } else {
    for (uint32_t i = 0; i < bytes / 4; ++i, value += 4) write_be32(value, (uint32_t)state->word[i]);
  }
}

/* Makes a key of a secret of any length. */
PENUMBRA_SHADER void hmac_expand(struct hmac_key* key, uint32_t digest, const uint8_t* secret, uint32_t bytes) {
  const uint32_t block = digest_block(digest);
  struct message message = {{secret, secret, secret}, {bytes, 0, 0}, 0, 0};
  uint8_t padded[MESSAGE_MOST_BLOCK] = {0};
  message.block = block;
  if (bytes > block) {
    struct digest_state state;
    digest_begin(digest, &state);
    digest_end(digest, &state, &message, padded);
  } else {
    copy_bytes(padded, secret, bytes);
  }
  message.part[0] = padded;
  message.part_bytes[0] = block;
  for (uint32_t i = 0; i < block; ++i) padded[i] ^= 0x36;
  digest_begin(digest, &key->inner);
  digest_add(digest, &key->inner, &message, 1);
  for (uint32_t i = 0; i < block; ++i) padded[i] ^= 0x36 ^ 0x5C;
  digest_begin(digest, &key->outer);
  digest_add(digest, &key->outer, &message, 1);
}

/* Makes the full tag of a message in three parts. */
PENUMBRA_SHADER void hmac(const struct hmac_key* key, uint32_t digest, const uint8_t* first, uint32_t first_bytes,
                          const uint8_t* second, uint32_t second_bytes, const uint8_t* third, uint32_t third_bytes,
                          uint8_t* tag) {
  struct message message = {{first, second, third}, {first_bytes, second_bytes, third_bytes}, 0, 0};
  struct digest_state state = key->inner;
  uint8_t inner[HMAC_MOST_TAG];
  message.block = digest_block(digest);
  message.before = message.block;
  digest_end(digest, &state, &message, inner);
  message.part[0] = inner;
  message.part_bytes[0] = hmac_tag_bytes(digest);
  message.part_bytes[1] = 0;
  message.part_bytes[2] = 0;
  state = key->outer;
  digest_end(digest, &state, &message, tag);
}

#endif
