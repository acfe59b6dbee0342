/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills a dictionary, looks all keys up in random order with and without gopt, and says how long both took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dictionary.h"

enum { BATCH = 4096 };

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef void find(const struct dictionary*, const uint64_t*, uint64_t*, uint32_t);

static double time_of(find* with, const struct dictionary* dictionary, const uint64_t* key, uint64_t* value,
                      uint32_t keys) {
  const double start = seconds();
  for (uint32_t k = 0; k < keys; k += BATCH) {
    with(dictionary, key + k, value + k, keys - k < BATCH ? keys - k : BATCH);
  }
  return seconds() - start;
}

int main(int argc, char** argv) {
  const uint32_t keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1U << 22;
  uint64_t buckets = 1;
  while (buckets < keys) buckets *= 2;
  struct dictionary dictionary = {calloc(buckets, sizeof *dictionary.buckets), buckets - 1};
  struct entry* entries = calloc(keys, sizeof *entries);
  uint64_t* key = calloc(keys, sizeof *key);
  uint64_t* plain = calloc(keys, sizeof *plain);
  uint64_t* hidden = calloc(keys, sizeof *hidden);
  if (dictionary.buckets == NULL || entries == NULL || key == NULL || plain == NULL || hidden == NULL) return 1;
  for (uint32_t k = 0; k < keys; ++k) {
    const struct entry** bucket = &dictionary.buckets[dictionary_hash(k + 1) & dictionary.mask];
    entries[k] = (struct entry){k + 1, k + 7, *bucket};
    *bucket = &entries[k];
  }
  uint64_t random = 1;
  for (uint32_t k = 0; k < keys; ++k) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    key[k] = (random >> 33) % (keys + keys / 8) + 1; /* one in nine is not there */
  }
  const double baseline = time_of(dictionary_find, &dictionary, key, plain, keys);
  const double gopt = time_of(dictionary_find_gopt, &dictionary, key, hidden, keys);
  if (memcmp(plain, hidden, keys * sizeof *plain) != 0) {
    puts("the two do not agree");
    return 1;
  }
  printf("%u keys: %.0f ns each, with gopt %.0f ns\n", keys, 1e9 * baseline / keys, 1e9 * gopt / keys);
  return 0;
}
