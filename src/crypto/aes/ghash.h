/* SPDX-License-Identifier: Apache-2.0
 *
 * GHASH, the universal hash of GCM (NIST SP 800-38D, section 6.4), in constant time. A carry-less product is made of
 * integer products whose operands have holes: of every four bits one is used, so that carries end in unused bits. */
#ifndef PENUMBRA_CRYPTO_AES_GHASH_H
#define PENUMBRA_CRYPTO_AES_GHASH_H

#include "crypto/bytes.h"

/* Two words of an element of GF(2^128), their sum, and all three with the bits in reverse order. */
struct ghash_operand {
  uint64_t high, low, sum;
  uint64_t high_reversed, low_reversed, sum_reversed;
};

struct ghash {
  struct ghash_operand key;
  uint64_t high, low; /* the value so far */
};

PENUMBRA_SHADER uint64_t ghash_reverse(uint64_t x) {
  x = (x & 0x5555555555555555U) << 1 | (x >> 1 & 0x5555555555555555U);
  x = (x & 0x3333333333333333U) << 2 | (x >> 2 & 0x3333333333333333U);
  x = (x & 0x0F0F0F0F0F0F0F0FU) << 4 | (x >> 4 & 0x0F0F0F0F0F0F0F0FU);
  x = (x & 0x00FF00FF00FF00FFU) << 8 | (x >> 8 & 0x00FF00FF00FF00FFU);
  x = (x & 0x0000FFFF0000FFFFU) << 16 | (x >> 16 & 0x0000FFFF0000FFFFU);
  return x << 32 | x >> 32;
}

/* Returns the lower 64 bits of the carry-less product. At most 16 bits are added at one position below bit 64, and the
 * only sum of 16 is at bit 60 or above, so no carry reaches a used bit. */
PENUMBRA_SHADER uint64_t ghash_multiply_low(uint64_t x, uint64_t y) {
  const uint64_t mask = 0x1111111111111111U;
  const uint64_t x0 = x & mask, x1 = x & mask << 1, x2 = x & mask << 2, x3 = x & mask << 3;
  const uint64_t y0 = y & mask, y1 = y & mask << 1, y2 = y & mask << 2, y3 = y & mask << 3;
  const uint64_t z0 = x0 * y0 ^ x1 * y3 ^ x2 * y2 ^ x3 * y1;
  const uint64_t z1 = x0 * y1 ^ x1 * y0 ^ x2 * y3 ^ x3 * y2;
  const uint64_t z2 = x0 * y2 ^ x1 * y1 ^ x2 * y0 ^ x3 * y3;
  const uint64_t z3 = x0 * y3 ^ x1 * y2 ^ x2 * y1 ^ x3 * y0;
  return (z0 & mask) | (z1 & mask << 1) | (z2 & mask << 2) | (z3 & mask << 3);
}

PENUMBRA_SHADER void ghash_operand_set(struct ghash_operand* operand, uint64_t high, uint64_t low) {
  operand->high = high;
  operand->low = low;
  operand->sum = high ^ low;
  operand->high_reversed = ghash_reverse(high);
  operand->low_reversed = ghash_reverse(low);
  operand->sum_reversed = operand->high_reversed ^ operand->low_reversed;
}

/* Begins with the hash key, the encrypted block of zeros. */
PENUMBRA_SHADER void ghash_begin(struct ghash* hash, const uint8_t* key) {
  ghash_operand_set(&hash->key, read_be64(key), read_be64(key + 8));
  hash->high = 0;
  hash->low = 0;
}

/* Adds an element, the first word of a block in `high`. The product is made by Karatsuba's method of six half products;
 * the upper half of a product is the lower half of the product of the reversed words, reversed. GCM's bits are in
 * reverse order, so the product is shifted by one and reduced from its lower end. */
PENUMBRA_SHADER void ghash_add_words(struct ghash* hash, uint64_t word_high, uint64_t word_low) {
  struct ghash_operand x;
  ghash_operand_set(&x, hash->high ^ word_high, hash->low ^ word_low);
  const uint64_t low = ghash_multiply_low(x.low, hash->key.low);
  const uint64_t high = ghash_multiply_low(x.high, hash->key.high);
  const uint64_t middle = ghash_multiply_low(x.sum, hash->key.sum) ^ low ^ high;
  const uint64_t low_upper = ghash_multiply_low(x.low_reversed, hash->key.low_reversed);
  const uint64_t high_upper = ghash_multiply_low(x.high_reversed, hash->key.high_reversed);
  const uint64_t middle_upper = ghash_multiply_low(x.sum_reversed, hash->key.sum_reversed) ^ low_upper ^ high_upper;
  uint64_t v0 = low;
  uint64_t v1 = ghash_reverse(low_upper) >> 1 ^ middle;
  uint64_t v2 = ghash_reverse(middle_upper) >> 1 ^ high;
  uint64_t v3 = ghash_reverse(high_upper) >> 1;
  v3 = v3 << 1 | v2 >> 63;
  v2 = v2 << 1 | v1 >> 63;
  v1 = v1 << 1 | v0 >> 63;
  v0 = v0 << 1;
  v2 ^= v0 ^ v0 >> 1 ^ v0 >> 2 ^ v0 >> 7;
  v1 ^= v0 << 63 ^ v0 << 62 ^ v0 << 57;
  v3 ^= v1 ^ v1 >> 1 ^ v1 >> 2 ^ v1 >> 7;
  v2 ^= v1 << 63 ^ v1 << 62 ^ v1 << 57;
  hash->high = v3;
  hash->low = v2;
}

/* Adds a block of 16 bytes. */
PENUMBRA_SHADER void ghash_add_block(struct ghash* hash, const uint8_t* block) {
  ghash_add_words(hash, read_be64(block), read_be64(block + 8));
}

/* Adds bytes, and zeros up to a whole block. */
PENUMBRA_SHADER void ghash_add(struct ghash* hash, const uint8_t* bytes, uint32_t count) {
  uint32_t at = 0;
  for (; at + 16 <= count; at += 16) ghash_add_block(hash, bytes + at);
  if (at < count) {
    uint8_t block[16] = {0};
    copy_bytes(block, bytes + at, count - at);
    ghash_add_block(hash, block);
  }
}

/* Adds the block of two lengths in bytes that ends every hash of GCM. */
PENUMBRA_SHADER void ghash_add_lengths(struct ghash* hash, uint32_t first, uint32_t second) {
  uint8_t block[16];
  write_be64(block, (uint64_t)first * 8);
  write_be64(block + 8, (uint64_t)second * 8);
  ghash_add_block(hash, block);
}

PENUMBRA_SHADER void ghash_value(const struct ghash* hash, uint8_t* value) {
  write_be64(value, hash->high);
  write_be64(value + 8, hash->low);
}

#endif
