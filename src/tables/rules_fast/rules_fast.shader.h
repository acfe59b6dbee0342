/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification for CPU cores: a few hash tables, and leaves whose rules are compared at once.
 *
 * Each group of rules has a hash table over key bits that most of its rules specify. A rule that leaves some of
 * those bits open is in all slots where a matching key may look. This is tuple space search with merged tuples. See
 * V. Srinivasan, S. Suri, G. Varghese: Packet Classification using Tuple Space Search, SIGCOMM 1999; J. Daly et al.:
 * TupleMerge, IEEE/ACM ToN 2019. Here, any bits may be chosen, and the rules determine the choice. A slot leads to a
 * leaf, usually of up to eight rules in the order of ranks.
 *
 * In a leaf, a rule is a box: for each lane (16 bits of the key) it has the lowest value and the span. Boxes cover
 * prefixes, exact values and ranges alike. A comparison is one subtraction and one comparison for all lanes of four
 * rules. A rule whose mask is not a prefix has the smallest box around its keys, and is checked again.
 *
 * An entry identifies a rule: its number, and above the number its rank class. Rank classes are coarse steps of
 * ranks. Most ranks are therefore compared without a load, and slots with only worse rules than the best so far are
 * skipped. */
#ifndef PENUMBRA_SHADERS_RULES_FAST_H
#define PENUMBRA_SHADERS_RULES_FAST_H

#include "tables/rules/rules.shader.h"

enum {
  RULES_FAST_OF_A_BLOCK = 4,
  RULES_FAST_NARROW_LANES = RULES_NARROW_WORDS * 4,
  RULES_FAST_WIDE_LANES = RULES_WORDS * 4,
  RULES_FAST_ENTRY_LANE = 4, /* of a narrow block: the lane that is 0 in every narrow key */
  RULES_FAST_PARTS = RULES_WORDS * 2,
  /* An entry; 0 means none. */
  RULES_FAST_CLASS_SHIFT = 20,
  RULES_FAST_CLASSES = 1 << 12, /* the lowest is 1 */
  RULES_FAST_NUMBER_MASK = (1 << RULES_FAST_CLASS_SHIFT) - 1,
  /* A slot; 0 means empty. The uppermost bits are the upper bits of its best rule's rank class. */
  RULES_FAST_BLOCK_MASK = (1 << 23) - 1, /* the leaf's first block */
  RULES_FAST_TWO_BLOCKS = 1 << 23,
  RULES_FAST_MANY_BLOCKS = 1 << 24, /* the last block has an entry 0 */
  RULES_FAST_CHECK = 1 << 25,       /* some rules do not exist in every state, or are not boxes */
  RULES_FAST_COARSE_SHIFT = 26,
};

/* Rules of a leaf, best first. After the last rule, entries are 0, and no key matches there. */
struct rules_fast_narrow_block {
  uint16_t low[RULES_FAST_OF_A_BLOCK][RULES_FAST_NARROW_LANES];
  uint16_t span[RULES_FAST_OF_A_BLOCK][RULES_FAST_NARROW_LANES]; /* maximum difference of a lane from `low` */
};
struct rules_fast_wide_block {
  uint16_t low[RULES_FAST_OF_A_BLOCK][RULES_FAST_WIDE_LANES];
  uint16_t span[RULES_FAST_OF_A_BLOCK][RULES_FAST_WIDE_LANES];
  uint32_t entry[RULES_FAST_OF_A_BLOCK];
};

/* Parts are the halves of a key's words, upper half first. */
struct rules_fast_group {
  uint32_t mask[RULES_FAST_PARTS];
  uint32_t multiplier[RULES_FAST_PARTS];
  uint32_t first_slot;
  uint32_t shift; /* 32 less the number of bits of slot numbers */
  uint32_t best;  /* best rank class of the group's rules, as in slots */
};

/* By the rule's number. */
struct rules_fast_rule {
  uint64_t rank;
  uint32_t born; /* first state with the rule */
  uint32_t dies; /* first state without the rule */
  uint32_t mask; /* index of value and mask if the rule is not a box, otherwise 0 */
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

/* Returns the number of a key's slot in a group. */
PENUMBRA_SHADER uint32_t rules_fast_slot(const struct rules_fast_group* group, const uint64_t* key, uint32_t words) {
  uint32_t hash = 0;
  for (uint32_t part = 0; part < words * 2; ++part) {
    const uint32_t bits = (uint32_t)(key[part / 2] >> (part % 2 == 0 ? 32 : 0)) & group->mask[part];
    hash += bits * group->multiplier[part];
  }
  return group->first_slot + (hash >> group->shift);
}

/* Returns true if a slot may have a better rule than `best`. */
PENUMBRA_SHADER uint32_t rules_fast_is_wanted(uint32_t slot, uint32_t best) {
  return (slot != 0) & (slot >> RULES_FAST_COARSE_SHIFT >= best >> RULES_FAST_COARSE_SHIFT);
}

/* Returns true if a rule whose box matches exists in `state` and its masks match. */
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

/* Returns true if the lanes of a key are in a box. Lane 0 is the lowest 16 bits of the first word. */
PENUMBRA_SHADER uint32_t rules_fast_is_inside(const uint16_t* low, const uint16_t* span, const uint64_t* key,
                                              uint32_t words, uint64_t ignored_lanes) {
  uint64_t outside = 0;
  for (uint32_t lane = 0; lane < words * 4; ++lane) {
    const uint16_t above = (uint16_t)((uint16_t)(key[lane / 4] >> (lane % 4 * 16)) - low[lane]);
    outside |= (uint64_t)(above > span[lane]) << lane;
  }
  return (outside & ~ignored_lanes) == 0;
}

/* Returns the entry of the winning rule of a leaf, or 0 if none matches. */
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

/* Returns the better of two entries. */
PENUMBRA_SHADER uint32_t rules_fast_better(const struct rules_fast_view* view, uint32_t a, uint32_t b) {
  if (a == 0 || b == 0 || (a ^ b) >> RULES_FAST_CLASS_SHIFT != 0) return a > b ? a : b;
  return view->rule[a & RULES_FAST_NUMBER_MASK].rank > view->rule[b & RULES_FAST_NUMBER_MASK].rank ? a : b;
}

/* Writes the number of the winning rule of each key, or RULES_NONE. */
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

/* Does the same for wide keys. */
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
