/* SPDX-License-Identifier: Apache-2.0
 *
 * Cuckoo hashing (Pagh, Rodler: Cuckoo Hashing, 2001) with two buckets per key and eight slots per bucket, from 32-bit
 * keys to 32-bit values. A bucket is a cache line. The second bucket follows from the first and the hash's upper bits.
 */
#ifndef PENUMBRA_BENCH_CUCKOO_SHADER_H
#define PENUMBRA_BENCH_CUCKOO_SHADER_H

#include "penumbra/shader.h"

enum { CUCKOO_SLOTS = 8, CUCKOO_NOT_FOUND = 0 };

struct cuckoo_bucket {
  uint32_t key[CUCKOO_SLOTS];
  uint32_t value[CUCKOO_SLOTS]; /* CUCKOO_NOT_FOUND in an empty slot */
};

struct cuckoo_view {
  const struct cuckoo_bucket* bucket;
  uint32_t bits; /* Binary logarithm of the number of buckets. */
};

/* Returns the hash of a key. Every step is invertible, so that no two keys have the same hash, and a builder can
 * compute keys for a bucket. */
PENUMBRA_SHADER uint32_t cuckoo_hash(uint32_t key) {
  key = (key ^ (key >> 16)) * 0x9E3779B1U;
  key = (key ^ (key >> 15)) * 0x85EBCA77U;
  return key ^ (key >> 16);
}

PENUMBRA_SHADER uint32_t cuckoo_first(struct cuckoo_view view, uint32_t hash) {
  return hash & ((1U << view.bits) - 1);
}

PENUMBRA_SHADER uint32_t cuckoo_second(struct cuckoo_view view, uint32_t hash) {
  return (hash ^ (((hash >> view.bits) + 1) * 0xC2B2AE3DU)) & ((1U << view.bits) - 1);
}

/* Returns the value of the key, or CUCKOO_NOT_FOUND if it is not in this bucket. */
PENUMBRA_SHADER uint32_t cuckoo_search(const struct cuckoo_bucket* bucket, uint32_t key) {
  for (uint32_t slot = 0; slot < CUCKOO_SLOTS; ++slot) {
    if (bucket->key[slot] == key) return bucket->value[slot];
  }
  return CUCKOO_NOT_FOUND;
}

/* Writes the value of each key, or CUCKOO_NOT_FOUND. One g_expensive() serves both buckets: items that continue after
 * different hints cost branch mispredictions, and half of the items need the second bucket. */
PENUMBRA_SHADER void cuckoo_find(struct cuckoo_view view, const uint32_t* key, uint32_t* value, uint32_t n) {
  foreach (i, n) {
    const uint32_t hash = cuckoo_hash(key[i]);
    const struct cuckoo_bucket* bucket = &view.bucket[cuckoo_first(view, hash)];
    for (uint32_t bucket_number = 1;; ++bucket_number) {
      g_expensive(bucket);
      const uint32_t found = cuckoo_search(bucket, key[i]);
      if (found != CUCKOO_NOT_FOUND || bucket_number == 2) {
        value[i] = found;
        break;
      }
      bucket = &view.bucket[cuckoo_second(view, hash)];
    }
  }
}

#endif
