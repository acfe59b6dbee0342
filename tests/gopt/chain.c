// SPDX-License-Identifier: Apache-2.0
/* The case has a loop, a helper with the hint, a sum over all items, and definitions that the output does not need. */
#include "gopt.h"

struct node {
  const struct node* next;
  uint32_t key, value;
};

const struct node* heads[1024];
static const uint32_t salt = 7;
uint32_t total = 0;

static uint32_t hash(uint32_t x) {
  return (x ^ salt) * 2654435761u;
}

/* Returns the node of a key, or null. */
static const struct node* find(const struct node* at, uint32_t key) {
  for (; at; at = at->next) {
    g_expensive(at, sizeof *at);
    if (at->key == key) return at;
  }
  return 0;
}

static uint32_t not_needed(void) {
  return total;
}

/* Sums up values. */
void sum_of(const uint32_t* key, uint32_t* value, uint32_t n) {
  uint32_t found = 0;
  foreach (i, n) {
    const struct node* at = find(heads[hash(key[i]) >> 22], key[i]);
    value[i] = at ? at->value : 0;
    found += at != 0;
  }
  total += found;
}

uint32_t elsewhere(void) {
  return not_needed();
}
