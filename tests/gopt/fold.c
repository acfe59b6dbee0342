// SPDX-License-Identifier: Apache-2.0
/* The case has one walk for two widths of keys: the width is a constant argument. */
#include "gopt.h"

enum { NARROW = 1, WIDE = 4 };

struct record {
  uint64_t word[WIDE];
  const uint64_t* more;
};

static uint64_t mixed(const uint64_t* more) {
  return *more ^ *more >> 32;
}

/* Returns true if the record has the key's words. Wide records go on elsewhere. */
static int has_key(const struct record* record, const uint64_t* key, uint32_t words) {
  uint64_t difference = 0;
  g_expensive(record);
  for (uint32_t word = 0; word < words; ++word) difference |= record->word[word] ^ key[word];
  if (words > NARROW) {
    const uint64_t* more = record->more;
    g_expensive(more);
    difference |= mixed(more);
  }
  return difference == 0;
}

void has_narrow_key(const struct record* table, uint32_t mask, const uint64_t* key, uint8_t* found, uint32_t n) {
  foreach (i, n) {
    found[i] = has_key(&table[key[i] & mask], &key[i], NARROW);
  }
}

static uint64_t first_word(const struct record* record, int is_cold) {
  if (is_cold) g_expensive(record);
  return record->word[0];
}

/* No hint is left, so that the loop stays as it is. */
void first_words(const struct record* table, uint64_t* word, uint32_t n) {
  foreach (i, n) {
    word[i] = first_word(&table[i], 0);
  }
}
