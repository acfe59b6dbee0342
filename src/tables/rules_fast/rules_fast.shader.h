/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification for cores: a handful of hash tables, and leaves whose rules are compared all at once.
 *
 * Each group of rules has a hash table over some bits of the key, which most of its rules tell; one that leaves a few
 * of them open stands in all the slots that it may be found in. (Tuple space search, V. Srinivasan, S. Suri,
 * G. Varghese: Packet Classification using Tuple Space Search, SIGCOMM 1999, with merged tuples as in J. Daly et al.:
 * TupleMerge, IEEE/ACM ToN 2019; here the bits are chosen freely, and by what the rules are.) A slot leads to a leaf,
 * of eight rules as a rule, in the order of their ranks.
 *
 * In a leaf a rule is a box: of each 16 bits of the key, a lane, it says the lowest value and how far up it goes. That
 * covers prefixes, exact values and ranges alike, and comparing takes a subtraction and a comparison for all lanes of
 * four rules. Rules with masks that are no prefixes have the smallest box around them, and are looked at once more.
 *
 * An entry stands for a rule: its number, and above it its class. Classes are ranks in coarse steps; so most ranks are
 * compared without being read, and slots with nothing better than what was found already are not followed. */
#ifndef PENUMBRA_SHADERS_RULES_FAST_H
#define PENUMBRA_SHADERS_RULES_FAST_H

#include "tables/rules/rules.shader.h"

enum {
  RULES_FAST_OF_A_BLOCK = 4,
  RULES_FAST_NARROW_LANES = RULES_NARROW_WORDS * 4,
  RULES_FAST_WIDE_LANES = RULES_WORDS * 4,
  RULES_FAST_ENTRY_LANE = 4, /* of a narrow block: the lane that is 0 in every narrow key */
  RULES_FAST_PARTS = RULES_WORDS * 2,
  /* An entry. 0 stands for none. */
  RULES_FAST_CLASS_SHIFT = 20,
  RULES_FAST_CLASSES = 1 << 12, /* the lowest is 1 */
  RULES_FAST_NUMBER_MASK = (1 << RULES_FAST_CLASS_SHIFT) - 1,
  /* A slot. 0 stands for an empty one. Above all others stand the upper bits of its best rule's class. */
  RULES_FAST_BLOCK_MASK = (1 << 23) - 1, /* the leaf's first block */
  RULES_FAST_TWO_BLOCKS = 1 << 23,
  RULES_FAST_MANY_BLOCKS = 1 << 24, /* the last one has an entry 0 */
  RULES_FAST_CHECK = 1 << 25,       /* not all of its rules are there in every state, or not all are boxes */
  RULES_FAST_COARSE_SHIFT = 26,
};

/* Rules of a leaf, the best first; behind the last one entries are 0, and nothing matches there. */
struct rules_fast_narrow_block {
  uint16_t low[RULES_FAST_OF_A_BLOCK][RULES_FAST_NARROW_LANES];
  uint16_t span[RULES_FAST_OF_A_BLOCK][RULES_FAST_NARROW_LANES]; /* what a lane may be more than `low` */
};
struct rules_fast_wide_block {
  uint16_t low[RULES_FAST_OF_A_BLOCK][RULES_FAST_WIDE_LANES];
  uint16_t span[RULES_FAST_OF_A_BLOCK][RULES_FAST_WIDE_LANES];
  uint32_t entry[RULES_FAST_OF_A_BLOCK];
};

/* Parts are the halves of a key's words, the upper one first. */
struct rules_fast_group {
  uint32_t mask[RULES_FAST_PARTS];
  uint32_t multiplier[RULES_FAST_PARTS];
  uint32_t first_slot;
  uint32_t shift; /* 32 less as many bits as the slots' numbers have */
  uint32_t best;  /* no rule of the group is in a better class, as slots have it */
};

/* By the rule's number. */
struct rules_fast_rule {
  uint64_t rank;
  uint32_t born; /* the state that it came with */
  uint32_t dies; /* the first state that is without it */
  uint32_t mask; /* if it is no box: where its value and mask stand, 0 otherwise */
  uint32_t unused;
};
struct rules_fast_mask {
  uint64_t value[RULES_WORDS];
  uint64_t mask[RULES_WORDS];
};

struct rules_fast_view {
  const struct rules_fast_group* group;
  const uint32_t* slot;
  const struct rules_fast_narrow_block* narrow; /* or null */
  const struct rules_fast_wide_block* wide;     /* or null */
  const struct rules_fast_rule* rule;
  const struct rules_fast_mask* mask;
  const uint32_t* state;
  uint32_t groups;
};

/* The number of a key's slot in a group. */
PENUMBRA_SHADER uint32_t rules_fast_slot(const struct rules_fast_group* group, const uint64_t* key, uint32_t words) {
  uint32_t hash = 0;
  for (uint32_t part = 0; part < words * 2; ++part) {
    const uint32_t bits = (uint32_t)(key[part / 2] >> (part % 2 == 0 ? 32 : 0)) & group->mask[part];
    hash += bits * group->multiplier[part];
  }
  return group->first_slot + (hash >> group->shift);
}

/* Whether a slot has to be followed by whom has found `best`. */
PENUMBRA_SHADER uint32_t rules_fast_is_wanted(uint32_t slot, uint32_t best) {
  return (slot != 0) & (slot >> RULES_FAST_COARSE_SHIFT >= best >> RULES_FAST_COARSE_SHIFT);
}

/* Of a rule whose box matches: whether its masks do, and it was there. */
PENUMBRA_SHADER uint32_t rules_fast_counts(const struct rules_fast_view* view, uint32_t entry, const uint64_t* key,
                                           uint32_t words, uint32_t state) {
  const struct rules_fast_rule* rule = &view->rule[entry & RULES_FAST_NUMBER_MASK];
  if (penumbra_load(&rule->born) > state || penumbra_load(&rule->dies) <= state) return 0;
  if (rule->mask == 0) return 1;
  const struct rules_fast_mask* mask = &view->mask[rule->mask];
  uint64_t difference = 0;
  for (uint32_t word = 0; word < words; ++word) difference |= (key[word] ^ mask->value[word]) & mask->mask[word];
  return difference == 0;
}

PENUMBRA_SHADER uint32_t rules_fast_entry(const struct rules_fast_narrow_block* block, uint32_t rule) {
  return block->low[rule][RULES_FAST_ENTRY_LANE] | (uint32_t)block->span[rule][RULES_FAST_ENTRY_LANE] << 16;
}

/* Whether lanes lie in a box: the `lanes` of a key's words from the lowest bits up. */
PENUMBRA_SHADER uint32_t rules_fast_is_inside(const uint16_t* low, const uint16_t* span, const uint64_t* key,
                                              uint32_t words, uint64_t ignored_lanes) {
  uint64_t outside = 0;
  for (uint32_t lane = 0; lane < words * 4; ++lane) {
    const uint16_t above = (uint16_t)((uint16_t)(key[lane / 4] >> (lane % 4 * 16)) - low[lane]);
    outside |= (uint64_t)(above > span[lane]) << lane;
  }
  return (outside & ~ignored_lanes) == 0;
}

/* The entry of a leaf's rule that wins, 0 if none matches. */
PENUMBRA_SHADER uint32_t rules_fast_find_narrow(const struct rules_fast_view* view, uint32_t slot, const uint64_t* key,
                                                uint32_t state) {
  const struct rules_fast_narrow_block* block = &view->narrow[slot & RULES_FAST_BLOCK_MASK];
  g_expensive(block, sizeof *block);
  for (uint32_t blocks = slot & RULES_FAST_TWO_BLOCKS ? 2 : 1;; ++block) {
    for (uint32_t i = 0; i < RULES_FAST_OF_A_BLOCK; ++i) {
      const uint32_t entry = rules_fast_entry(block, i);
      if (entry == 0) return 0;
      if (!rules_fast_is_inside(block->low[i], block->span[i], key, RULES_NARROW_WORDS, 1U << RULES_FAST_ENTRY_LANE)) {
        continue;
      }
      if ((slot & RULES_FAST_CHECK) == 0 || rules_fast_counts(view, entry, key, RULES_NARROW_WORDS, state)) {
        return entry;
      }
    }
    if ((slot & RULES_FAST_MANY_BLOCKS) == 0 && --blocks == 0) return 0;
  }
}
PENUMBRA_SHADER uint32_t rules_fast_find_wide(const struct rules_fast_view* view, uint32_t slot, const uint64_t* key,
                                              uint32_t state) {
  const struct rules_fast_wide_block* block = &view->wide[slot & RULES_FAST_BLOCK_MASK];
  g_expensive(block, sizeof *block);
  for (uint32_t blocks = slot & RULES_FAST_TWO_BLOCKS ? 2 : 1;; ++block) {
    for (uint32_t i = 0; i < RULES_FAST_OF_A_BLOCK; ++i) {
      const uint32_t entry = block->entry[i];
      if (entry == 0) return 0;
      if (!rules_fast_is_inside(block->low[i], block->span[i], key, RULES_WORDS, 0)) continue;
      if ((slot & RULES_FAST_CHECK) == 0 || rules_fast_counts(view, entry, key, RULES_WORDS, state)) return entry;
    }
    if ((slot & RULES_FAST_MANY_BLOCKS) == 0 && --blocks == 0) return 0;
  }
}

/* The better one of two entries. */
PENUMBRA_SHADER uint32_t rules_fast_better(const struct rules_fast_view* view, uint32_t a, uint32_t b) {
  if (a == 0 || b == 0 || (a ^ b) >> RULES_FAST_CLASS_SHIFT != 0) return a > b ? a : b;
  return view->rule[a & RULES_FAST_NUMBER_MASK].rank > view->rule[b & RULES_FAST_NUMBER_MASK].rank ? a : b;
}

/* Writes the number of the rule that wins of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_fast_narrow(struct rules_fast_view view, const struct rules_narrow_key* key, uint32_t* rule,
                                       uint32_t n) {
  foreach (i, n) {
    const uint32_t state = penumbra_load_first(view.state);
    uint32_t best = 0;
    for (uint32_t group = 0; group < view.groups; ++group) {
      if (penumbra_load(&view.group[group].best) < best >> RULES_FAST_COARSE_SHIFT) continue;
      const uint32_t* at = &view.slot[rules_fast_slot(&view.group[group], key[i].word, RULES_NARROW_WORDS)];
      g_expensive(at);
      const uint32_t slot = penumbra_load_first(at);
      if (rules_fast_is_wanted(slot, best)) {
        best = rules_fast_better(&view, best, rules_fast_find_narrow(&view, slot, key[i].word, state));
      }
    }
    rule[i] = best & RULES_FAST_NUMBER_MASK;
  }
}

/* The same for wide keys. */
PENUMBRA_SHADER void rules_fast_wide(struct rules_fast_view view, const struct rules_key* key, uint32_t* rule,
                                     uint32_t n) {
  foreach (i, n) {
    const uint32_t state = penumbra_load_first(view.state);
    uint32_t best = 0;
    for (uint32_t group = 0; group < view.groups; ++group) {
      if (penumbra_load(&view.group[group].best) < best >> RULES_FAST_COARSE_SHIFT) continue;
      const uint32_t* at = &view.slot[rules_fast_slot(&view.group[group], key[i].word, RULES_WORDS)];
      g_expensive(at);
      const uint32_t slot = penumbra_load_first(at);
      if (rules_fast_is_wanted(slot, best)) {
        best = rules_fast_better(&view, best, rules_fast_find_wide(&view, slot, key[i].word, state));
      }
    }
    rule[i] = best & RULES_FAST_NUMBER_MASK;
  }
}

#endif
