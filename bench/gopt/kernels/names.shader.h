/* SPDX-License-Identifier: Apache-2.0
 *
 * Named data networking: finds the longest prefix of a name, in whole components, by hashing, the longest first. A name
 * has 32 bytes in four components. A bucket is a cache line and holds hashes, not names. */
#ifndef PENUMBRA_BENCH_NAMES_SHADER_H
#define PENUMBRA_BENCH_NAMES_SHADER_H

#include "penumbra/shader.h"

enum { NAMES_COMPONENTS = 4, NAMES_SLOTS = 4, NAMES_NO_PORT = 0 };

struct names_name {
  uint64_t component[NAMES_COMPONENTS];
};

struct names_slot {
  uint64_t hash;
  uint32_t port; /* NAMES_NO_PORT in an empty slot. */
  uint32_t unused;
};

struct names_bucket {
  struct names_slot slot[NAMES_SLOTS];
};

struct names_view {
  const struct names_bucket* bucket;
  uint64_t mask; /* Number of buckets - 1; the number is a power of two. */
};

PENUMBRA_SHADER uint64_t names_hash(const struct names_name* name, uint32_t components) {
  uint64_t hash = components;
  for (uint32_t c = 0; c < components; ++c) {
    hash = (hash ^ name->component[c]) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  hash *= 0xBF58476D1CE4E5B9U;
  return hash ^ (hash >> 32);
}

PENUMBRA_SHADER uint32_t names_search(const struct names_bucket* bucket, uint64_t hash) {
  for (const struct names_slot* slot = bucket->slot; slot != bucket->slot + NAMES_SLOTS; ++slot) {
    if (slot->hash == hash) return slot->port;
  }
  return NAMES_NO_PORT;
}

/* Writes the port of each name, or NAMES_NO_PORT. */
PENUMBRA_SHADER void names_find(struct names_view view, const struct names_name* name, uint32_t* port, uint32_t n) {
  foreach (i, n) {
    uint32_t found = NAMES_NO_PORT;
    for (uint32_t components = NAMES_COMPONENTS; components > 0 && found == NAMES_NO_PORT; --components) {
      const uint64_t hash = names_hash(&name[i], components);
      const struct names_bucket* bucket = &view.bucket[hash & view.mask];
      g_expensive(bucket);
      found = names_search(bucket, hash);
    }
    port[i] = found;
  }
}

#endif
