/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by tuple search (Srinivasan, Suri, Varghese: Packet Classification Using Tuple Space Search, SIGCOMM
 * 1999; GSwitch, section IV.B). Rules with equal masks form a subtable (a tuple of the paper). Under the mask of a
 * subtable, a key is one value, and exactly the subtable's rules of that value match. One lookup in a hash table finds
 * them.
 *
 * For a range of ports, the subtable's mask has the bits that all ports of the range share: their longest common prefix
 * (nesting). The range itself is compared for each rule that is found. Ranges therefore add few subtables.
 *
 * All subtables share one cuckoo table (cuckoo.shader.h); the digest hashes the subtable together with the value. No
 * subtable thus has too few or too many buckets, adding or removing a subtable makes no table, and all probes cost the
 * same. The table maps a digest to the first record of a chain: the rules of that value, in no particular order. If two
 * values have the same digest, they share a chain. Each record has its whole value, its subtable and its ranges, so a
 * lookup never confuses two rules.
 *
 * The subtables form a list, sorted by their best rules. Each subtable has a bound: no rule of it or of later subtables
 * has a higher rank. A search ends when the best rule so far is not below the bound. The owner raises a bound before a
 * rule above it takes effect. New subtables are appended, and the owner occasionally writes a sorted list to another
 * place. `list` gives the place of the list. A reader loads `state` before `list`, so its list has at least the
 * subtables of that state. rules_is_there() rejects newer rules. */
#ifndef PENUMBRA_SHADERS_RULES_TUPLE_H
#define PENUMBRA_SHADERS_RULES_TUPLE_H

#include "tables/cuckoo/cuckoo.shader.h"
#include "tables/rules/rules.shader.h"
#include "tables/rules_tuple/subtable_group.h"

enum {
  RULES_SPARSE_WORDS = 14,   /* words of a sparse key (rules_sparse.shader.h) */
  RULES_TUPLE_HAS_RANGES = 1 /* bit in a record's `ranges`, below the number of its subtable */
};

struct rules_subtable {
  uint64_t bound; /* no rule of this class or of one behind it ranks higher */
  uint64_t number;
};

struct rules_tuple_view {
  struct cuckoo_table_view cuckoo; /* digests to numbers of rules */
  const struct rules_record* record;
  const struct rules_ports* ports; /* by number, for rules with ranges */
  const uint32_t* state;
  const uint64_t* list;                   /* where it begins (the upper half), and how many subtables it has */
  const struct rules_subtable* subtables; /* the list's */
  const uint64_t* group;                  /* their masks, salts, filters and prefilters (subtable_group.h) */
  const uint64_t* filter;                 /* rules_bloom.shader.h's */
  const uint64_t* more;                   /* further words of the values of sparse rules */
  const uint64_t* sparse_secret;          /* RULES_SPARSE_WORDS secrets; `secret` has the first of them */
  uint64_t secret[RULES_WORDS];
};

/* Returns a word of the mask of the subtable at place `at` of the list. */
PENUMBRA_SHADER uint64_t rules_tuple_mask(const struct rules_tuple_view* view, uint32_t at, uint32_t word,
                                          uint32_t words) {
  return penumbra_load(&view->group[rules_group_row(at, word, words) + at % RULES_TUPLE_GROUP]);
}

PENUMBRA_SHADER uint64_t rules_tuple_hash_in(const struct rules_tuple_view* view, uint32_t at, const uint64_t* key,
                                             uint32_t words) {
  const uint64_t* const own = &view->group[rules_group_row(at, 0, words) + at % RULES_TUPLE_GROUP];
  const uint64_t salt = penumbra_load(&own[(uint64_t)((words + RULES_GROUP_SALT) * RULES_TUPLE_GROUP)]);
  return rules_tuple_hash(view->secret, key, own, RULES_TUPLE_GROUP, words, salt);
}

/* The state of a lookup. */
struct rules_walk {
  uint32_t state;    /* the state that decides the lookup */
  uint32_t at, end;  /* place of the current group of subtables, and end of the list */
  uint32_t may_have; /* one bit for each subtable of the group whose table must still be asked */
  uint32_t best;     /* the winning rule so far; the record of RULES_NONE has rank 0, below all rules */
};

PENUMBRA_SHADER struct rules_walk rules_walk_begin(const struct rules_tuple_view* view) {
  struct rules_walk walk;
  walk.state = penumbra_load_first(view->state);
  const uint64_t list = penumbra_load_first(view->list);
  walk.at = (uint32_t)(list >> 32);
  walk.end = walk.at + (uint32_t)list;
  walk.may_have = 0;
  walk.best = RULES_NONE;
  return walk;
}

/* Returns true if subtables from `at` on may have a rule of a higher rank than the best so far. */
PENUMBRA_SHADER uint32_t rules_walk_goes_on(const struct rules_tuple_view* view, const struct rules_walk* walk) {
  return walk->at < walk->end && penumbra_load(&view->subtables[walk->at].bound) > view->record[walk->best].rank;
}

/* Returns the place of the next subtable whose table must be asked. */
PENUMBRA_SHADER uint32_t rules_walk_class(const struct rules_walk* walk) {
  return walk->at + penumbra_trailing_zeros(walk->may_have);
}

/* Returns the digest of the key in that subtable. The digest is computed again, because few subtables need it and
 * keeping the digests of all would cost more. */
PENUMBRA_SHADER uint64_t rules_walk_digest(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                           const uint64_t* key, uint32_t words) {
  return rules_tuple_digest(rules_tuple_hash_in(view, rules_walk_class(walk), key, words));
}

PENUMBRA_SHADER uint32_t rules_tuple_matches(const struct rules_tuple_view* view, uint32_t number, uint32_t at,
                                             const uint64_t* key, uint32_t words) {
  const struct rules_record* record = &view->record[number];
  uint64_t difference = (record->ranges >> 1) ^ view->subtables[at].number;
  for (uint32_t word = 0; word < words; ++word) {
    difference |= (key[word] & rules_tuple_mask(view, at, word, words)) ^ record->value[word];
  }
  if (difference != 0) return 0;
  return (record->ranges & RULES_TUPLE_HAS_RANGES) == 0 || rules_has_ports(&view->ports[number], key[words - 1]);
}

/* Compares a rule of the chain with the key. Returns the next rule of the chain, or RULES_NONE. */
PENUMBRA_SHADER uint32_t rules_walk_take(const struct rules_tuple_view* view, struct rules_walk* walk, uint32_t number,
                                         const uint64_t* key, uint32_t words) {
  const struct rules_record* record = &view->record[number];
  if (record->rank > view->record[walk->best].rank &&
      rules_tuple_matches(view, number, rules_walk_class(walk), key, words) && rules_is_there(record, walk->state)) {
    walk->best = number;
  }
  return penumbra_load_first(&record->next);
}

/* Computes the digests of the key in the next group of subtables. */
PENUMBRA_SHADER void rules_tuple_digests(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                         const uint64_t* key, uint32_t words, uint64_t* digest) {
  rules_group_digests(view->secret, key, &view->group[rules_group_row(walk->at, 0, words)], words, digest);
}

/* Clears the bits of lanes after the end of the list. */
PENUMBRA_SHADER uint32_t rules_walk_there(const struct rules_walk* walk, uint32_t may_have) {
  const uint32_t there = walk->end - walk->at;
  return there < 32 ? may_have & ((1U << there) - 1) : may_have;
}

/* Returns the subtables of the group that may have the digests, by the marks of the digests' first buckets. */
PENUMBRA_SHADER uint32_t rules_tuple_may_have(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                              const uint64_t* digest) {
  return rules_walk_there(walk, rules_group_may_have(&view->cuckoo, digest));
}

/* Returns the subtables of the next group whose tables may have the key, one bit each. */
PENUMBRA_SHADER uint32_t rules_tuple_ask(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                         const uint64_t* key, uint32_t words) {
  uint64_t digest[RULES_TUPLE_GROUP];
  rules_tuple_digests(view, walk, key, words, digest);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[0] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[1] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[2] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[3] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[4] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[5] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[6] & ((1U << view->cuckoo.bits) - 1)]);
  g_expensive(&view->cuckoo.bucket[(uint32_t)digest[7] & ((1U << view->cuckoo.bits) - 1)]);
  return rules_tuple_may_have(view, walk, digest);
}

/* Returns the number of the winning rule of a key, or RULES_NONE. */
PENUMBRA_SHADER uint32_t rules_tuple_find(const struct rules_tuple_view* view, const uint64_t* key, uint32_t words) {
  struct rules_walk walk = rules_walk_begin(view);
  for (; rules_walk_goes_on(view, &walk); walk.at += RULES_TUPLE_GROUP) {
    walk.may_have = rules_tuple_ask(view, &walk, key, words);
    for (; walk.may_have != 0; walk.may_have &= walk.may_have - 1) {
      uint32_t number = cuckoo_table_find(&view->cuckoo, rules_walk_digest(view, &walk, key, words));
      while (number != RULES_NONE) {
        g_expensive(&view->record[number]);
        number = rules_walk_take(view, &walk, number, key, words);
      }
    }
  }
  return walk.best;
}

/* Writes the number of the winning rule of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_tuple_narrow(struct rules_tuple_view view, const struct rules_narrow_key* key,
                                        uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_tuple_find(&view, key[i].word, RULES_NARROW_WORDS);
  }
}

/* Does the same for wide keys. */
PENUMBRA_SHADER void rules_tuple_wide(struct rules_tuple_view view, const struct rules_key* key, uint32_t* rule,
                                      uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_tuple_find(&view, key[i].word, RULES_WORDS);
  }
}

#endif
