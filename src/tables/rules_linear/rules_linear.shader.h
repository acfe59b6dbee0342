/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by linear search (GSwitch, section IV.A). The shader tries every rule in the order of numbers, and the
 * matching rule of the highest rank wins. rules_is_there() rejects records that are unused or being written. Linear
 * search suits few rules, and is the baseline for the other structures. */
#ifndef PENUMBRA_SHADERS_RULES_LINEAR_H
#define PENUMBRA_SHADERS_RULES_LINEAR_H

#include "tables/rules/rules.shader.h"

struct rules_linear_view {
  const struct rules_record* record; /* by number, like `ports` and `mask` */
  const struct rules_ports* ports;
  const uint64_t* mask; /* as many words per rule as a key has */
  const uint32_t* state;
  const uint32_t* end; /* one past the highest number */
};

PENUMBRA_SHADER uint32_t rules_linear_find(const struct rules_linear_view* view, const uint64_t* key, uint32_t words) {
  const uint32_t state = penumbra_load_first(view->state);
  const uint32_t end = penumbra_load(view->end);
  uint64_t best_rank = 0;
  uint32_t best = RULES_NONE;
  for (uint32_t number = 1; number < end; ++number) {
    const struct rules_record* record = &view->record[number];
    const uint64_t* mask = &view->mask[(uint64_t)(number * words)];
    uint64_t difference = 0;
    for (uint32_t word = 0; word < words; ++word) {
      difference |= (key[word] ^ penumbra_load(&record->value[word])) & penumbra_load(&mask[word]);
    }
    if (difference != 0 || !rules_has_ports(&view->ports[number], key[words - 1])) continue;
    const uint64_t rank = penumbra_load(&record->rank);
    if (rank <= best_rank || !rules_is_there(record, state)) continue;
    best_rank = rank;
    best = number;
  }
  return best;
}

/* Writes the number of the winning rule of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_linear_narrow(struct rules_linear_view view, const struct rules_narrow_key* key,
                                         uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_linear_find(&view, key[i].word, RULES_NARROW_WORDS);
  }
}

/* Does the same for wide keys. */
PENUMBRA_SHADER void rules_linear_wide(struct rules_linear_view view, const struct rules_key* key, uint32_t* rule,
                                       uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_linear_find(&view, key[i].word, RULES_WORDS);
  }
}

#endif
