/* SPDX-License-Identifier: Apache-2.0
 *
 * The one-time authenticator Poly1305 (RFC 8439, section 2.5) over whole blocks. Numbers are five digits of 26 bits, so
 * that sums of digit products fit in 64 bits. */
#ifndef PENUMBRA_CRYPTO_POLY1305_H
#define PENUMBRA_CRYPTO_POLY1305_H

#include "crypto/bytes.h"

enum { POLY1305_KEY = 32, POLY1305_TAG = 16, POLY1305_BLOCK = 16, POLY1305_DIGITS = 5 };

struct poly1305 {
  uint32_t r[POLY1305_DIGITS];
  uint32_t sum[POLY1305_DIGITS]; /* below 2^27 each */
  uint32_t pad[4];
};

/* Splits 128 bits into digits of 26 bits. The last digit has 24 bits. */
PENUMBRA_SHADER void poly1305_split(uint32_t* digit, const uint8_t* bytes) {
  digit[0] = read_le32(bytes) & 0x3FFFFFF;
  digit[1] = read_le32(bytes + 3) >> 2 & 0x3FFFFFF;
  digit[2] = read_le32(bytes + 6) >> 4 & 0x3FFFFFF;
  digit[3] = read_le32(bytes + 9) >> 6;
  digit[4] = read_le32(bytes + 12) >> 8;
}

PENUMBRA_SHADER void poly1305_begin(struct poly1305* mac, const uint8_t* key) {
  uint8_t clamped[16];
  for (uint32_t i = 0; i < 16; ++i) {
    clamped[i] = (uint8_t)(key[i] & (i % 4 == 3 ? 0x0F : (i % 4 == 0 && i != 0 ? 0xFC : 0xFF)));
  }
  poly1305_split(mac->r, clamped);
  // NOLINTNEXTLINE(modernize-loop-convert): C has no such loop
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) mac->sum[i] = 0;
  read_le32_words(mac->pad, key + 16, 4);
}

/* Adds a block with its bit of 1 at 2^128 and multiplies by r, modulo 2^130 - 5. A digit product above the uppermost
 * digit counts five times at the lowest ones. */
PENUMBRA_SHADER void poly1305_add_block(struct poly1305* mac, const uint8_t* block) {
  uint32_t x[POLY1305_DIGITS];
  uint64_t product[POLY1305_DIGITS] = {0};
  poly1305_split(x, block);
  x[4] |= 1U << 24;
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) x[i] += mac->sum[i];
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) {
    for (uint32_t k = 0; k < POLY1305_DIGITS; ++k) {
      const uint32_t factor = i + k < POLY1305_DIGITS ? mac->r[k] : 5 * mac->r[k];
      product[(i + k) % POLY1305_DIGITS] += (uint64_t)x[i] * factor;
    }
  }
  for (uint32_t i = 0; i + 1 < POLY1305_DIGITS; ++i) {
    product[i + 1] += product[i] >> 26;
    mac->sum[i] = (uint32_t)product[i] & 0x3FFFFFF;
  }
  mac->sum[4] = (uint32_t)product[4] & 0x3FFFFFF;
  const uint64_t lowest = mac->sum[0] + 5 * (product[4] >> 26);
  mac->sum[0] = (uint32_t)lowest & 0x3FFFFFF;
  mac->sum[1] += (uint32_t)(lowest >> 26);
}

/* Adds bytes, and zeros up to a whole block. */
PENUMBRA_SHADER void poly1305_add(struct poly1305* mac, const uint8_t* bytes, uint32_t count) {
  uint32_t at = 0;
  for (; at + POLY1305_BLOCK <= count; at += POLY1305_BLOCK) poly1305_add_block(mac, bytes + at);
  if (at < count) {
    uint8_t block[POLY1305_BLOCK] = {0};
    copy_bytes(block, bytes + at, count - at);
    poly1305_add_block(mac, block);
  }
}

/* Reduces completely, and adds the second half of the key. */
PENUMBRA_SHADER void poly1305_end(struct poly1305* mac, uint8_t* tag) {
  uint32_t digit[POLY1305_DIGITS], reduced[POLY1305_DIGITS], carry = 0;
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) digit[i] = mac->sum[i];
  for (uint32_t round = 0; round < 2; ++round) {
    // NOLINTNEXTLINE(modernize-loop-convert): C has no such loop
    for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) {
      digit[i] += carry;
      carry = digit[i] >> 26;
      digit[i] &= 0x3FFFFFF;
    }
    carry *= 5;
  }
  digit[0] += carry;
  carry = 5;
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) { /* the number less 2^130 - 5 */
    reduced[i] = digit[i] + carry;
    carry = reduced[i] >> 26;
    reduced[i] &= 0x3FFFFFF;
  }
  const uint32_t mask = 0U - carry; /* ones if the number was 2^130 - 5 or more */
  for (uint32_t i = 0; i < POLY1305_DIGITS; ++i) digit[i] = (digit[i] & ~mask) | (reduced[i] & mask);
  const uint32_t word[4] = {digit[0] | digit[1] << 26, digit[1] >> 6 | digit[2] << 20, digit[2] >> 12 | digit[3] << 14,
                            digit[3] >> 18 | digit[4] << 8};
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 4; ++i, tag += 4) {
    sum = (sum >> 32) + word[i] + mac->pad[i];
    write_le32(tag, (uint32_t)sum);
  }
}

#endif
