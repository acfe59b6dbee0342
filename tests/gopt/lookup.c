// SPDX-License-Identifier: Apache-2.0
/* The case has two dependent accesses, a macro, and an exit between them. */
#include "gopt.h"

#define NOT_FOUND 0xFFFFFFFFu

struct entry {
  uint32_t key;
  const uint32_t* value;
};

void lookup(const struct entry* table, uint32_t mask, const uint32_t* key, uint32_t* value, uint32_t n) {
  foreach (i, n) {
    const struct entry* entry = &table[key[i] & mask];
    g_expensive(entry);
    if (entry->key != key[i]) {
      value[i] = NOT_FOUND;
      continue;
    }
    g_expensive(entry->value);
    value[i] = *entry->value;
  }
}
