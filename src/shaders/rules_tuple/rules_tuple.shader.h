/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by tuple search (Srinivasan, Suri, Varghese: Packet Classification Using Tuple Space Search, SIGCOMM
 * 1999; GSwitch, section IV.B). The rules whose masks are equal are a class. Under a class's mask a key is one value,
 * and the rules of the class that match are those of that value: one look-up in a hash table.
 *
 * Of a range of ports, the mask of a class has the bits in which all of its ports agree, its longest common prefix
 * (nesting); the range itself is compared where a rule was found. So ranges make few classes more.
 *
 * A cuckoo table a class, the words, is here one cuckoo table (cuckoo.shader.h) that all classes share, in
 * whose digests the class is hashed with the value. A class then has no buckets of its own that are too few or too many
 * for it, classes come and go without tables being made, and a probe costs the same. The table leads from a digest to
 * the first record of a chain: the rules of that value, one behind the other, in no order. Should two values have one
 * digest they share a chain; each record has its whole value, its class and its ranges, so that no rule is taken for
 * another.
 *
 * Classes stand in a list, those that have the rules of the highest rank first, each with a bound: no rule of it or of
 * a class behind it ranks higher. Who has found a rule that does not rank lower is done. The owner raises a bound
 * before a rule above it counts, appends classes behind the last one, and sorts the list anew elsewhere now and then;
 * `list` says where it stands. A reader loads `state` and then `list`: what it finds has at least the classes of that
 * state, and of what is newer rules_is_there() takes nothing. */
#ifndef PENUMBRA_SHADERS_RULES_TUPLE_H
#define PENUMBRA_SHADERS_RULES_TUPLE_H

#include "shaders/cuckoo/cuckoo.shader.h"
#include "shaders/rules/rules.shader.h"

enum {
  RULES_TUPLE_SECRETS = 2 * RULES_WORDS,
  RULES_TUPLE_DIGEST_BITS = 53,
  RULES_TUPLE_HAS_RANGES = 1, /* in a record's `ranges`, below the number of its class */
  RULES_TUPLE_GROUP = 4       /* classes that are looked at together */
};

struct rules_class {
  uint64_t bound;  /* no rule of this class or of one behind it ranks higher */
  uint64_t salt;   /* what the hashes of its values begin with */
  uint64_t filter; /* rules_bloom.shader.h's */
  uint32_t number;
};

struct rules_tuple_view {
  struct cuckoo_table_view cuckoo; /* of numbers of rules, by digests */
  const struct rules_record* record;
  const struct rules_ports* ports; /* by number, for rules with ranges */
  const uint32_t* state;
  const uint64_t* list;              /* where it begins (the upper half), and how many classes it has */
  const struct rules_class* classes; /* the list's */
  const uint64_t* mask;              /* of each class as many words as a key has */
  const uint64_t* filter;            /* rules_bloom.shader.h's */
  uint64_t secret[RULES_TUPLE_SECRETS];
};

/* A keyed hash of a key under a mask: the sum of the products of pairs of 32-bit words, a secret added to each, modulo
 * 2^64 (MULTILINEAR-HM of Lemire, Kaser: Strongly Universal String Hashing is Fast, The Computer Journal 2014). Its
 * upper 32 bits are strongly universal: two values meet there with a chance of 2^-32, whatever they are. */
PENUMBRA_SHADER uint64_t rules_tuple_hash(const uint64_t* secret, const uint64_t* key, const uint64_t* mask,
                                          uint32_t words, uint64_t salt) {
  uint64_t sum = salt;
  for (uint32_t word = 0; word < words; ++word) {
    const uint64_t masked = key[word] & mask[word];
    sum += (secret[2 * word] + (uint32_t)masked) * (secret[2 * word + 1] + (masked >> 32));
  }
  return sum;
}

/* Of that hash, the upper bits at the bottom: they choose the bucket. */
PENUMBRA_SHADER uint64_t rules_tuple_digest(uint64_t hash) {
  const uint64_t lower = (uint64_t)1 << (RULES_TUPLE_DIGEST_BITS - 32);
  return hash >> 32 | (hash >> 11 & (lower - 1)) << 32;
}

PENUMBRA_SHADER uint64_t rules_tuple_hash_in(const struct rules_tuple_view* view, uint32_t at, const uint64_t* key,
                                             uint32_t words) {
  return rules_tuple_hash(view->secret, key, &view->mask[at * words], words, view->classes[at].salt);
}

PENUMBRA_SHADER uint32_t rules_tuple_matches(const struct rules_tuple_view* view, uint32_t number, uint32_t at,
                                             const uint64_t* key, uint32_t words) {
  const struct rules_record* record = &view->record[number];
  uint64_t difference = (record->ranges >> 1) ^ view->classes[at].number;
  for (uint32_t word = 0; word < words; ++word) {
    difference |= (key[word] & view->mask[at * words + word]) ^ record->value[word];
  }
  if (difference != 0) return 0;
  return (record->ranges & RULES_TUPLE_HAS_RANGES) == 0 || rules_has_ports(&view->ports[number], key[words - 1]);
}

/* The rule that wins of `best` (RULES_NONE: none) and those of the class at that place of the list which match. The
 * record of RULES_NONE ranks 0, below all. */
PENUMBRA_SHADER uint32_t rules_tuple_better(const struct rules_tuple_view* view, uint32_t at, uint64_t digest,
                                            const uint64_t* key, uint32_t words, uint32_t state, uint32_t best) {
  uint32_t better = best;
  uint32_t number = cuckoo_table_find(&view->cuckoo, digest);
  while (number != RULES_NONE) {
    const struct rules_record* record = &view->record[number];
    g_expensive(record);
    if (record->rank > view->record[better].rank && rules_tuple_matches(view, number, at, key, words) &&
        rules_is_there(record, state)) {
      better = number;
    }
    number = penumbra_load_first(&record->next);
  }
  return better;
}

/* Whether the marks of its first bucket, at that place, leave it open that a digest is there. */
PENUMBRA_SHADER uint32_t rules_tuple_may_be(const struct rules_tuple_view* view, uint32_t place, uint64_t digest) {
  const uint64_t marks = penumbra_load_first(&view->cuckoo.bucket[place].marks);
  const uint64_t hits = cuckoo_table_hits(marks, cuckoo_table_mark(digest >> view->cuckoo.bits));
  return (hits | marks >> CUCKOO_TABLE_ELSEWHERE_AT) != 0;
}

PENUMBRA_SHADER uint32_t rules_tuple_find(const struct rules_tuple_view* view, const uint64_t* key, uint32_t words) {
  const uint32_t state = penumbra_load_first(view->state);
  const uint64_t list = penumbra_load_first(view->list);
  const uint32_t end = (uint32_t)(list >> 32) + (uint32_t)list;
  const uint32_t places = (1U << view->cuckoo.bits) - 1;
  uint32_t best = RULES_NONE;
  for (uint32_t at = (uint32_t)(list >> 32); at < end; at += RULES_TUPLE_GROUP) {
    if (penumbra_load(&view->classes[at].bound) <= view->record[best].rank) break;
    uint64_t digest[RULES_TUPLE_GROUP];
    for (uint32_t i = 0; i < RULES_TUPLE_GROUP; ++i) {
      const uint32_t each = at + i < end ? at + i : at;
      digest[i] = rules_tuple_digest(rules_tuple_hash_in(view, each, key, words));
    }
    g_expensive(&view->cuckoo.bucket[(uint32_t)digest[0] & places]);
    g_expensive(&view->cuckoo.bucket[(uint32_t)digest[1] & places]);
    g_expensive(&view->cuckoo.bucket[(uint32_t)digest[2] & places]);
    g_expensive(&view->cuckoo.bucket[(uint32_t)digest[3] & places]);
    for (uint32_t i = 0; i < RULES_TUPLE_GROUP; ++i) {
      const uint32_t each = at + i < end ? at + i : at;
      if (rules_tuple_may_be(view, (uint32_t)digest[i] & places, digest[i])) {
        best = rules_tuple_better(view, each, digest[i], key, words, state, best);
      }
    }
  }
  return best;
}

/* Writes the number of the rule that wins of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_tuple_narrow(struct rules_tuple_view view, const struct rules_narrow_key* key,
                                        uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    const uint32_t best = rules_tuple_find(&view, key[i].word, RULES_NARROW_WORDS);
    rule[i] = best;
  }
}

/* The same for wide keys. */
PENUMBRA_SHADER void rules_tuple_wide(struct rules_tuple_view view, const struct rules_key* key, uint32_t* rule,
                                      uint32_t n) {
  foreach (i, n) {
    const uint32_t best = rules_tuple_find(&view, key[i].word, RULES_WORDS);
    rule[i] = best;
  }
}

#endif
