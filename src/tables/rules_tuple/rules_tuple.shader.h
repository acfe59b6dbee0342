/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by tuple search (Srinivasan, Suri, Varghese: Packet Classification Using Tuple Space Search, SIGCOMM
 * 1999; GSwitch, section IV.B). The rules whose masks are equal are a class. Under a class's mask a key is one value,
 * and the rules of the class that match are those of that value: one look-up in a hash table.
 *
 * Of a range of ports, the mask of a class has the bits in which all of its ports agree, its longest common prefix
 * (nesting); the range itself is compared where a rule was found. So ranges make few subtables more.
 *
 * A cuckoo table a class, the words, is here one cuckoo table (cuckoo.shader.h) that all subtables share, in
 * whose digests the class is hashed with the value. A class then has no buckets of its own that are too few or too many
 * for it, subtables come and go without tables being made, and a probe costs the same. The table leads from a digest to
 * the first record of a chain: the rules of that value, one behind the other, in no order. Should two values have one
 * digest they share a chain; each record has its whole value, its class and its ranges, so that no rule is taken for
 * another.
 *
 * Classes stand in a list, those that have the rules of the highest rank first, each with a bound: no rule of it or of
 * a class behind it ranks higher. Who has found a rule that does not rank lower is done. The owner raises a bound
 * before a rule above it counts, appends subtables behind the last one, and sorts the list anew elsewhere now and then;
 * `list` says where it stands. A reader loads `state` and then `list`: what it finds has at least the subtables of that
 * state, and of what is newer rules_is_there() takes nothing. */
#ifndef PENUMBRA_SHADERS_RULES_TUPLE_H
#define PENUMBRA_SHADERS_RULES_TUPLE_H

#include "tables/cuckoo/cuckoo.shader.h"
#include "tables/rules/rules.shader.h"
#include "tables/rules_tuple/subtable_group.h"

enum {
  RULES_TUPLE_HAS_RANGES = 1 /* in a record's `ranges`, below the number of its class */
};

struct rules_subtable {
  uint64_t bound; /* no rule of this class or of one behind it ranks higher */
  uint64_t number;
};

struct rules_tuple_view {
  struct cuckoo_table_view cuckoo; /* of numbers of rules, by digests */
  const struct rules_record* record;
  const struct rules_ports* ports; /* by number, for rules with ranges */
  const uint32_t* state;
  const uint64_t* list;                   /* where it begins (the upper half), and how many subtables it has */
  const struct rules_subtable* subtables; /* the list's */
  const uint64_t* group;                  /* their masks, salts, filters and prefilters (subtable_group.h) */
  const uint64_t* filter;                 /* rules_bloom.shader.h's */
  uint64_t secret[RULES_WORDS];
};

/* Of the class at a place of the list. */
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

/* Where a look-up is. */
struct rules_walk {
  uint32_t state;    /* the one that decides */
  uint32_t at, end;  /* the group of subtables that it is at, and the end of the list */
  uint32_t may_have; /* of the group, a bit for each class whose table is still to be asked */
  uint32_t best;     /* the rule that wins so far; the record of RULES_NONE ranks 0, below all */
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

/* Whether subtables from `at` on may have a rule that ranks higher than the best one so far. */
PENUMBRA_SHADER uint32_t rules_walk_goes_on(const struct rules_tuple_view* view, const struct rules_walk* walk) {
  return walk->at < walk->end && penumbra_load(&view->subtables[walk->at].bound) > view->record[walk->best].rank;
}

/* The place of the class whose table is to be asked next. */
PENUMBRA_SHADER uint32_t rules_walk_class(const struct rules_walk* walk) {
  return walk->at + penumbra_trailing_zeros(walk->may_have);
}

/* The digest to ask it for. It was made when the group was looked at; these subtables are few, and keeping it for all
 * would cost more than making it anew. */
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

/* Looks at a rule of the chain that the table led to; returns the next one, or RULES_NONE. */
PENUMBRA_SHADER uint32_t rules_walk_take(const struct rules_tuple_view* view, struct rules_walk* walk, uint32_t number,
                                         const uint64_t* key, uint32_t words) {
  const struct rules_record* record = &view->record[number];
  if (record->rank > view->record[walk->best].rank &&
      rules_tuple_matches(view, number, rules_walk_class(walk), key, words) && rules_is_there(record, walk->state)) {
    walk->best = number;
  }
  return penumbra_load_first(&record->next);
}

/* Of the group of subtables that comes next, the digests to ask for. */
PENUMBRA_SHADER void rules_tuple_digests(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                         const uint64_t* key, uint32_t words, uint64_t* digest) {
  rules_group_digests(view->secret, key, &view->group[rules_group_row(walk->at, 0, words)], words, digest);
}

/* Without the bits of lanes behind the end of the list. */
PENUMBRA_SHADER uint32_t rules_walk_there(const struct rules_walk* walk, uint32_t may_have) {
  const uint32_t there = walk->end - walk->at;
  return there < 32 ? may_have & ((1U << there) - 1) : may_have;
}

/* For which subtables of the group the marks of the digests' first buckets leave it open that they are there. */
PENUMBRA_SHADER uint32_t rules_tuple_may_have(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                              const uint64_t* digest) {
  return rules_walk_there(walk, rules_group_may_have(&view->cuckoo, digest));
}

/* Writes the number of the rule that wins of each key, or RULES_NONE. The body stands here for each width of keys: gopt
 * keeps what a function with hints is given, so that a width which it is given would be none that the compiler knows.
 */
PENUMBRA_SHADER void rules_tuple_narrow(struct rules_tuple_view view, const struct rules_narrow_key* key,
                                        uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    struct rules_walk walk = rules_walk_begin(&view);
    for (; rules_walk_goes_on(&view, &walk); walk.at += RULES_TUPLE_GROUP) {
      uint64_t digest[RULES_TUPLE_GROUP];
      rules_tuple_digests(&view, &walk, key[i].word, RULES_NARROW_WORDS, digest);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[0] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[1] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[2] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[3] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[4] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[5] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[6] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[7] & ((1U << view.cuckoo.bits) - 1)]);
      walk.may_have = rules_tuple_may_have(&view, &walk, digest);
      for (; walk.may_have != 0; walk.may_have &= walk.may_have - 1) {
        uint32_t number =
            cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key[i].word, RULES_NARROW_WORDS));
        while (number != RULES_NONE) {
          g_expensive(&view.record[number]);
          number = rules_walk_take(&view, &walk, number, key[i].word, RULES_NARROW_WORDS);
        }
      }
    }
    rule[i] = walk.best;
  }
}

/* The same for wide keys. */
PENUMBRA_SHADER void rules_tuple_wide(struct rules_tuple_view view, const struct rules_key* key, uint32_t* rule,
                                      uint32_t n) {
  foreach (i, n) {
    struct rules_walk walk = rules_walk_begin(&view);
    for (; rules_walk_goes_on(&view, &walk); walk.at += RULES_TUPLE_GROUP) {
      uint64_t digest[RULES_TUPLE_GROUP];
      rules_tuple_digests(&view, &walk, key[i].word, RULES_WORDS, digest);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[0] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[1] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[2] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[3] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[4] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[5] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[6] & ((1U << view.cuckoo.bits) - 1)]);
      g_expensive(&view.cuckoo.bucket[(uint32_t)digest[7] & ((1U << view.cuckoo.bits) - 1)]);
      walk.may_have = rules_tuple_may_have(&view, &walk, digest);
      for (; walk.may_have != 0; walk.may_have &= walk.may_have - 1) {
        uint32_t number = cuckoo_table_find(&view.cuckoo, rules_walk_digest(&view, &walk, key[i].word, RULES_WORDS));
        while (number != RULES_NONE) {
          g_expensive(&view.record[number]);
          number = rules_walk_take(&view, &walk, number, key[i].word, RULES_WORDS);
        }
      }
    }
    rule[i] = walk.best;
  }
}

#endif
