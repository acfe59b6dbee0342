/* SPDX-License-Identifier: Apache-2.0 */
#include "dictionary.h"

#include <stddef.h>

#include "gopt.h"

void dictionary_find(const struct dictionary* dictionary, const uint64_t* key, uint64_t* value, uint32_t n) {
  foreach (i, n) {
    const struct entry* const* bucket = &dictionary->buckets[dictionary_hash(key[i]) & dictionary->mask];
    g_expensive(bucket);
    value[i] = 0;
    for (const struct entry* at = *bucket; at != NULL; at = at->next) {
      g_expensive(at);
      if (at->key == key[i]) {
        value[i] = at->value;
        break;
      }
    }
  }
}
