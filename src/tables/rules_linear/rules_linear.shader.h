/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by linear search (GSwitch, section IV.A): every rule is tried, in the order of their numbers, and of
 * those that match the one of the highest rank wins. Rules lie by number, and whatever lies at a number that is no
 * rule's, or is being written for a new one, rules_is_there() tells apart. It suits few rules, and is what the other
 * structures are measured by. */
#ifndef PENUMBRA_SHADERS_RULES_LINEAR_H
#define PENUMBRA_SHADERS_RULES_LINEAR_H

#include "tables/rules/rules.shader.h"

struct rules_linear_view {
  const struct rules_record* record; /* by number, and so are these two: */
  const struct rules_ports* ports;
  const uint64_t* mask; /* as many words as a key has */
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

/* Writes the number of the rule that wins of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_linear_narrow(struct rules_linear_view view, const struct rules_narrow_key* key,
                                         uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_linear_find(&view, key[i].word, RULES_NARROW_WORDS);
  }
}

/* The same for wide keys. */
PENUMBRA_SHADER void rules_linear_wide(struct rules_linear_view view, const struct rules_key* key, uint32_t* rule,
                                       uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_linear_find(&view, key[i].word, RULES_WORDS);
  }
}

#endif
