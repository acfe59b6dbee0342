/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash table of memcached 1.6: its assoc_find, and its items in their memory layout. The code is rewritten with
 * `foreach` and g_expensive(); a get of many keys is a batch. */
#ifndef PENUMBRA_BENCH_MEMCACHED_SHADER_H
#define PENUMBRA_BENCH_MEMCACHED_SHADER_H

#include <string.h>

#include "penumbra/shader.h"

/* An item's header. The number for compare-and-swap, the key and the value follow. */
struct memcached_item {
  struct memcached_item* newer; /* In the LRU list. */
  struct memcached_item* older;
  struct memcached_item* next; /* In the bucket. */
  uint32_t used, expires;      /* Seconds. */
  int32_t value_bytes;
  uint16_t references, flags;
  uint8_t slab_class, key_bytes;
};

enum { MEMCACHED_CAS_BYTES = 8, MEMCACHED_KEY = sizeof(struct memcached_item) + MEMCACHED_CAS_BYTES };

struct memcached_view {
  struct memcached_item* const* bucket;
  uint64_t mask; /* Number of buckets - 1; the number is a power of two. */
};

/* A key of a request, with its hash. */
struct memcached_key {
  const char* text;
  uint32_t bytes;
  uint32_t hash;
};

/* Writes the item of each key, or NULL. */
PENUMBRA_SHADER void memcached_find(struct memcached_view view, const struct memcached_key* key,
                                    const struct memcached_item** found, uint32_t n) {
  foreach (i, n) {
    struct memcached_item* const* bucket = &view.bucket[key[i].hash & view.mask];
    g_expensive(bucket);
    const struct memcached_item* item = *bucket;
    while (item != NULL) {
      g_expensive(item, MEMCACHED_KEY + 8);
      if (item->key_bytes == key[i].bytes &&
          memcmp((const char*)item + MEMCACHED_KEY, key[i].text, key[i].bytes) == 0) {
        break;
      }
      item = item->next;
    }
    found[i] = item;
  }
}

#endif
