/* SPDX-License-Identifier: Apache-2.0
 *
 * The private operation of RSA by the Chinese remainder theorem (RFC 8017, section 5.1.2), in plain constant-time code.
 * This code is the oracle of the faster forms.
 *
 * Every operation is blinded: the input is multiplied by A, and the result by A^-d, with a random A that nobody knows.
 * Every result is raised to the public exponent before it leaves, because a wrong result reveals the factors of the
 * modulus (Boneh, DeMillo, Lipton: On the importance of checking cryptographic protocols for faults, 1997). */
#ifndef PENUMBRA_CRYPTO_RSA_RSA_H
#define PENUMBRA_CRYPTO_RSA_RSA_H

#include "crypto/rsa/numbers.h"

enum rsa_status {
  RSA_DONE,
  RSA_TOO_LARGE, /* the input is not less than the modulus */
  RSA_WRONG      /* the result failed the check; the output has zeros */
};

enum { RSA_WINDOW = 4 /* bits of an exponent in one step */, RSA_POWERS = 1 << RSA_WINDOW };

/* One prime. R is 2^(16 * bits of the modulus). */
struct rsa_half {
  uint32_t prime[RSA_MOST_HALF_WORDS];
  uint32_t exponent[RSA_MOST_HALF_WORDS]; /* d mod (prime - 1) */
  uint32_t negative[RSA_MOST_HALF_WORDS]; /* -d mod (prime - 1), for pairs */
  uint32_t cube[RSA_MOST_HALF_WORDS];     /* R^3 mod prime */
  uint32_t inverse;                       /* -1 / prime mod 2^32 */
};

/* An expanded key. Both primes have half of the bits of the modulus. */
struct rsa_key {
  uint32_t words;    /* of the modulus: 64, 96 or 128 */
  uint32_t exponent; /* the public one */
  uint32_t inverse;  /* -1 / modulus mod 2^32 */
  uint32_t modulus[RSA_MOST_WORDS];
  uint32_t square[RSA_MOST_WORDS];           /* (R of the modulus)^2 mod modulus */
  uint32_t coefficient[RSA_MOST_HALF_WORDS]; /* R / half[1].prime mod half[0].prime */
  struct rsa_half half[2];
};

/* The factors of blinding, in Montgomery form for the modulus. */
struct rsa_pair {
  uint32_t before[RSA_MOST_WORDS]; /* A */
  uint32_t after[RSA_MOST_WORDS];  /* A^-d */
};

/* Sets result = powers[index]. Reads all powers. */
PENUMBRA_SHADER void rsa_select(uint32_t* result, const uint32_t (*powers)[RSA_MOST_HALF_WORDS], uint32_t index,
                                uint32_t words) {
  words_set(result, 0, words);
  for (uint32_t i = 0; i < RSA_POWERS; ++i) {
    const uint32_t difference = i ^ index, mask = ((difference | (0U - difference)) >> 31) - 1;
    for (uint32_t j = 0; j < words; ++j) result[j] |= powers[i][j] & mask;
  }
}

/* Sets result = number^exponent mod prime. The number has twice the words of the prime and is less than the modulus. */
PENUMBRA_SHADER void rsa_half_power(uint32_t* result, const uint32_t* number, const struct rsa_half* half,
                                    const uint32_t* exponent, uint32_t words) {
  uint32_t powers[RSA_POWERS][RSA_MOST_HALF_WORDS], factor[RSA_MOST_HALF_WORDS], wide[RSA_MOST_WORDS];
  words_copy(wide, number, 2 * words);
  montgomery_reduce(factor, wide, half->prime, half->inverse, words);
  montgomery_multiply(powers[1], factor, half->cube, half->prime, half->inverse, words);
  words_set(wide, 1, words);
  montgomery_multiply(powers[0], half->cube, wide, half->prime, half->inverse, words);
  montgomery_multiply(powers[0], powers[0], wide, half->prime, half->inverse, words);
  for (uint32_t i = 2; i < RSA_POWERS; ++i) {
    montgomery_multiply(powers[i], powers[i - 1], powers[1], half->prime, half->inverse, words);
  }
  words_copy(result, powers[0], words);
  for (uint32_t at = 32 * words; at != 0;) {
    at -= RSA_WINDOW;
    for (uint32_t i = 0; i < RSA_WINDOW; ++i) {
      montgomery_multiply(result, result, result, half->prime, half->inverse, words);
    }
    rsa_select(factor, (const uint32_t(*)[RSA_MOST_HALF_WORDS])powers, exponent[at / 32] >> at % 32 & (RSA_POWERS - 1),
               words);
    montgomery_multiply(result, result, factor, half->prime, half->inverse, words);
  }
  montgomery_multiply(result, result, wide, half->prime, half->inverse, words);
}

/* Sets result = number^d mod modulus, or number^-d. Neither blinds nor checks. */
PENUMBRA_SHADER void rsa_power(uint32_t* result, const uint32_t* number, const struct rsa_key* key,
                               uint32_t is_negative) {
  const uint32_t words = key->words / 2;
  const struct rsa_half *p = &key->half[0], *q = &key->half[1];
  uint32_t by_p[RSA_MOST_HALF_WORDS], by_q[RSA_MOST_HALF_WORDS], reduced[RSA_MOST_HALF_WORDS];
  rsa_half_power(by_p, number, p, is_negative ? p->negative : p->exponent, words);
  rsa_half_power(by_q, number, q, is_negative ? q->negative : q->exponent, words);
  words_copy(reduced, by_q, words);
  words_subtract_once(reduced, 0, p->prime, words);
  /* by_p = (by_p - by_q) / q mod p */
  const uint32_t borrow = words_subtract(by_p, by_p, reduced, words);
  for (uint32_t i = 0; i < words; ++i) reduced[i] = p->prime[i] & (0U - borrow);
  words_add(by_p, by_p, reduced, words);
  montgomery_multiply(by_p, by_p, key->coefficient, p->prime, p->inverse, words);
  words_multiply(result, q->prime, by_p, words);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 2 * words; ++i) {
    sum += (uint64_t)result[i] + (i < words ? by_q[i] : 0);
    result[i] = (uint32_t)sum;
    sum >>= 32;
  }
}

/* Returns 1 if number^e mod modulus = expected. */
PENUMBRA_SHADER uint32_t rsa_is_root(const uint32_t* number, const uint32_t* expected, const struct rsa_key* key) {
  uint32_t base[RSA_MOST_WORDS], power[RSA_MOST_WORDS], one[RSA_MOST_WORDS];
  uint32_t bit = 1U << 31;
  while (!(key->exponent & bit)) bit >>= 1;
  montgomery_multiply(base, number, key->square, key->modulus, key->inverse, key->words);
  words_copy(power, base, key->words);
  for (bit >>= 1; bit != 0; bit >>= 1) {
    montgomery_multiply(power, power, power, key->modulus, key->inverse, key->words);
    if (key->exponent & bit) montgomery_multiply(power, power, base, key->modulus, key->inverse, key->words);
  }
  words_set(one, 1, key->words);
  montgomery_multiply(power, power, one, key->modulus, key->inverse, key->words);
  return words_equal(power, expected, key->words);
}

/* Makes a pair of a random number that is less than the modulus. */
PENUMBRA_SHADER void rsa_make_pair(struct rsa_pair* pair, const uint32_t* random, const struct rsa_key* key) {
  rsa_power(pair->after, random, key, 1);
  montgomery_multiply(pair->after, pair->after, key->square, key->modulus, key->inverse, key->words);
  montgomery_multiply(pair->before, random, key->square, key->modulus, key->inverse, key->words);
}

/* Sets output = input^d mod modulus and squares the pair. Returns an rsa_status; the output has zeros unless it is
 * RSA_DONE. Only the status of the check and whether the input is too large decide a branch, in the caller. */
PENUMBRA_SHADER uint32_t rsa_private(uint32_t* output, const uint32_t* input, const struct rsa_key* key,
                                     struct rsa_pair* pair) {
  uint32_t number[RSA_MOST_WORDS] = {0};
  const uint32_t is_small = words_less(input, key->modulus, key->words);
  for (uint32_t i = 0; i < key->words; ++i) output[i] = input[i] & (0U - is_small);
  montgomery_multiply(number, output, pair->before, key->modulus, key->inverse, key->words);
  rsa_power(output, number, key, 0);
  montgomery_multiply(output, output, pair->after, key->modulus, key->inverse, key->words);
  const uint32_t is_right = rsa_is_root(output, input, key);
  for (uint32_t i = 0; i < key->words; ++i) output[i] &= 0U - (is_right & is_small);
  montgomery_multiply(pair->before, pair->before, pair->before, key->modulus, key->inverse, key->words);
  montgomery_multiply(pair->after, pair->after, pair->after, key->modulus, key->inverse, key->words);
  return is_small == 0 ? RSA_TOO_LARGE : is_right == 0 ? RSA_WRONG : RSA_DONE;
}

#endif
