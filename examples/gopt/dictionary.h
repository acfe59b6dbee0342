/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table with chains: the textbook's, far slower than it need be once it does not fit in the cache. */
#ifndef DICTIONARY_H
#define DICTIONARY_H

#include <stdint.h>

struct entry {
  uint64_t key, value;
  const struct entry* next;
};

struct dictionary {
  const struct entry** buckets;
  uint64_t mask; /* buckets - 1; the number of buckets is a power of two */
};

/* Writes the value of each of n keys, or 0. The second is what gopt makes of the first. */
void dictionary_find(const struct dictionary* dictionary, const uint64_t* key, uint64_t* value, uint32_t n);
void dictionary_find_gopt(const struct dictionary* dictionary, const uint64_t* key, uint64_t* value, uint32_t n);

static inline uint64_t dictionary_hash(uint64_t key) {
  key *= 0x9E3779B97F4A7C15u;
  return key ^ (key >> 32);
}

#endif
