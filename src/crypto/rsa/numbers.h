/* SPDX-License-Identifier: Apache-2.0
 *
 * Long numbers as arrays of 32-bit words, least significant word first. No function branches on the numbers or uses
 * them as an address, so its time depends on the count of words only. */
#ifndef PENUMBRA_CRYPTO_RSA_NUMBERS_H
#define PENUMBRA_CRYPTO_RSA_NUMBERS_H

#include "penumbra/shader.h"

enum { RSA_MOST_WORDS = 128 /* 4096 bits */, RSA_MOST_HALF_WORDS = RSA_MOST_WORDS / 2 };

PENUMBRA_SHADER void words_copy(uint32_t* to, const uint32_t* from, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i) to[i] = from[i];
}

/* Sets `to` to the number `value`. */
PENUMBRA_SHADER void words_set(uint32_t* to, uint32_t value, uint32_t words) {
  for (uint32_t i = 0; i < words; ++i) to[i] = i == 0 ? value : 0;
}

/* Sets result = a + b, and returns the carry. */
PENUMBRA_SHADER uint32_t words_add(uint32_t* result, const uint32_t* a, const uint32_t* b, uint32_t words) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < words; ++i) {
    sum += (uint64_t)a[i] + b[i];
    result[i] = (uint32_t)sum;
    sum >>= 32;
  }
  return (uint32_t)sum;
}

/* Sets result = a - b, and returns the borrow: 1 if a < b. */
PENUMBRA_SHADER uint32_t words_subtract(uint32_t* result, const uint32_t* a, const uint32_t* b, uint32_t words) {
  uint32_t borrow = 0;
  for (uint32_t i = 0; i < words; ++i) {
    const uint64_t difference = (uint64_t)a[i] - b[i] - borrow;
    result[i] = (uint32_t)difference;
    borrow = (uint32_t)(difference >> 63);
  }
  return borrow;
}

/* Returns 1 if a < b. */
PENUMBRA_SHADER uint32_t words_less(const uint32_t* a, const uint32_t* b, uint32_t words) {
  uint32_t borrow = 0;
  for (uint32_t i = 0; i < words; ++i) borrow = (uint32_t)(((uint64_t)a[i] - b[i] - borrow) >> 63);
  return borrow;
}

/* Returns 1 if a == b. */
PENUMBRA_SHADER uint32_t words_equal(const uint32_t* a, const uint32_t* b, uint32_t words) {
  uint32_t difference = 0;
  for (uint32_t i = 0; i < words; ++i) difference |= a[i] ^ b[i];
  return 1 ^ ((difference | (0U - difference)) >> 31);
}

/* Reduces the number with the word `carry` above `number`, which is less than twice the modulus. */
PENUMBRA_SHADER void words_subtract_once(uint32_t* number, uint32_t carry, const uint32_t* modulus, uint32_t words) {
  const uint32_t keep = 0U - (words_less(number, modulus, words) & (1 ^ carry));
  uint32_t borrow = 0;
  for (uint32_t i = 0; i < words; ++i) {
    const uint64_t difference = (uint64_t)number[i] - (modulus[i] & ~keep) - borrow;
    number[i] = (uint32_t)difference;
    borrow = (uint32_t)(difference >> 63);
  }
}

/* Sets number = 2 * number mod modulus. */
PENUMBRA_SHADER void words_double(uint32_t* number, const uint32_t* modulus, uint32_t words) {
  const uint32_t carry = words_add(number, number, number, words);
  words_subtract_once(number, carry, modulus, words);
}

/* Returns -1 / odd mod 2^32. */
PENUMBRA_SHADER uint32_t word_negative_inverse(uint32_t odd) {
  uint32_t inverse = odd; /* right in 3 bits; every step doubles them */
  for (uint32_t i = 0; i < 4; ++i) inverse *= 2 - odd * inverse;
  return 0U - inverse;
}

/* Sets result[0, 2 * words) = a * b. The result overlaps no factor. */
PENUMBRA_SHADER void words_multiply(uint32_t* result, const uint32_t* a, const uint32_t* b, uint32_t words) {
  words_set(result, 0, 2 * words);
  for (uint32_t i = 0; i < words; ++i) {
    uint32_t carry = 0;
    for (uint32_t j = 0; j < words; ++j) {
      const uint64_t sum = (uint64_t)a[i] * b[j] + result[i + j] + carry;
      result[i + j] = (uint32_t)sum;
      carry = (uint32_t)(sum >> 32);
    }
    result[i + words] = carry;
  }
}

/* Sets result = wide / R mod modulus, where R = 2^(32 * words). `wide` has 2 * words words, is less than modulus * R,
 * and is overwritten. `inverse` is word_negative_inverse(modulus[0]). */
PENUMBRA_SHADER void montgomery_reduce(uint32_t* result, uint32_t* wide, const uint32_t* modulus, uint32_t inverse,
                                       uint32_t words) {
  uint32_t above = 0;
  for (uint32_t i = 0; i < words; ++i) {
    const uint32_t quotient = wide[i] * inverse;
    uint32_t carry = 0;
    for (uint32_t j = 0; j < words; ++j) {
      const uint64_t sum = (uint64_t)quotient * modulus[j] + wide[i + j] + carry;
      wide[i + j] = (uint32_t)sum;
      carry = (uint32_t)(sum >> 32);
    }
    const uint64_t top = (uint64_t)wide[i + words] + carry + above;
    wide[i + words] = (uint32_t)top;
    above = (uint32_t)(top >> 32);
  }
  words_copy(result, wide + words, words);
  words_subtract_once(result, above, modulus, words);
}

/* Sets result = a * b / R mod modulus. Both factors are less than the modulus; the result may be one of them. */
PENUMBRA_SHADER void montgomery_multiply(uint32_t* result, const uint32_t* a, const uint32_t* b,
                                         const uint32_t* modulus, uint32_t inverse, uint32_t words) {
  uint32_t wide[2 * RSA_MOST_WORDS];
  words_multiply(wide, a, b, words);
  montgomery_reduce(result, wide, modulus, inverse, words);
}

/* Sets result = 2^power * R mod modulus, whose highest bit is set. */
PENUMBRA_SHADER void montgomery_power_of_two(uint32_t* result, uint32_t power, const uint32_t* modulus,
                                             uint32_t inverse, uint32_t words) {
  uint32_t zero[RSA_MOST_WORDS];
  words_set(zero, 0, words);
  words_subtract(result, zero, modulus, words); /* R - modulus = R mod modulus */
  for (uint32_t bit = 1U << 31; bit != 0; bit >>= 1) {
    montgomery_multiply(result, result, result, modulus, inverse, words);
    if (power & bit) words_double(result, modulus, words);
  }
}

#endif
