/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuple and Bloom search (rules_tuple.shader.h, rules_bloom.shader.h) with sparse keys. A sparse key has many words,
 * and the mask of a subtable uses few of them. Hash, filter and comparison read only those words, in rising order. The
 * width of the key therefore costs bytes on the bus, but no work for each subtable.
 *
 * A row of a group after the rows of the masks has the places of the used words: 4 bits for each word, from the lowest
 * on, and their number from RULES_SPARSE_COUNT on. Row i of the masks has the mask of the i-th used word. The half of a
 * word that a prefilter uses is also numbered among the used words.
 *
 * A record has the first RULES_WORDS words of a rule's value, and `more` has the others. Sparse rules have no ranges of
 * ports. The answer has the state that decided the lookup, so that a cache can tell when the answer is out of date. */
#ifndef PENUMBRA_SHADERS_RULES_SPARSE_H
#define PENUMBRA_SHADERS_RULES_SPARSE_H

#include "tables/rules_tuple/rules_bloom.shader.h"

enum {
  RULES_SPARSE_ROWS = RULES_SPARSE_WORDS + 1,  /* rows of masks and the row of places */
  RULES_SPARSE_MORE = 9,                       /* RULES_SPARSE_WORDS - RULES_WORDS */
  RULES_SPARSE_COUNT = 4 * RULES_SPARSE_WORDS, /* bit of the places at which the number of used words begins */
  RULES_SPARSE_HALVES = 16                     /* halves that a prefilter can use: those of the first 8 used words */
};

struct rules_sparse_key {
  uint64_t word[RULES_SPARSE_WORDS];
};

/* Returns an answer: the number of the winning rule or RULES_NONE, and in the upper half the state that decided. */
PENUMBRA_SHADER uint64_t rules_sparse_answer(const struct rules_walk* walk) {
  return (uint64_t)walk->state << 32 | walk->best;
}

/* Returns the place in the key of used word `index`. */
PENUMBRA_SHADER uint32_t rules_sparse_place(uint64_t places, uint32_t index) {
  return (uint32_t)(places >> (4 * index)) & 15;
}

/* Returns the places of the words that the subtable at place `at` of the list uses. */
PENUMBRA_SHADER uint64_t rules_sparse_places(const struct rules_tuple_view* view, uint32_t at) {
  return penumbra_load(
      &view->group[rules_group_row(at, RULES_SPARSE_WORDS, RULES_SPARSE_ROWS) + at % RULES_TUPLE_GROUP]);
}

/* Returns a used word of a key under the subtable's mask, whose words are RULES_TUPLE_GROUP apart. */
PENUMBRA_SHADER uint64_t rules_sparse_word(uint64_t places, const uint64_t* key, const uint64_t* mask, uint32_t index) {
  return key[rules_sparse_place(places, index)] & penumbra_load(&mask[(uint64_t)(index * RULES_TUPLE_GROUP)]);
}

/* Returns rules_tuple_digest() of rules_tuple_hash() of the used words of a key in the subtable at place `at`. A copy
 * of the words would need an array, for which GPUs have no registers. */
PENUMBRA_SHADER uint64_t rules_sparse_digest(const struct rules_tuple_view* view, uint32_t at, const uint64_t* key) {
  const uint64_t* const group = &view->group[rules_group_row(at, 0, RULES_SPARSE_ROWS) + at % RULES_TUPLE_GROUP];
  const uint64_t places = rules_sparse_places(view, at);
  const uint32_t count = (uint32_t)(places >> RULES_SPARSE_COUNT);
  uint64_t sum = penumbra_load(&group[((uint64_t)RULES_SPARSE_ROWS + (uint64_t)RULES_GROUP_SALT) * RULES_TUPLE_GROUP]);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t masked = rules_sparse_word(places, key, group, i), secret = view->sparse_secret[i];
    const uint32_t lower = (uint32_t)masked + (uint32_t)secret;
    const uint32_t upper = (uint32_t)(masked >> 32) + (uint32_t)(secret >> 32);
    sum += (uint64_t)lower * upper;
  }
  return rules_tuple_digest(sum * RULES_TUPLE_FACTOR);
}

/* Returns rules_bloom_hash() of the used words of a key. */
PENUMBRA_SHADER uint32_t rules_sparse_bloom_hash(const struct rules_tuple_view* view, uint64_t places,
                                                 const uint64_t* key, const uint64_t* mask) {
  const uint32_t count = (uint32_t)(places >> RULES_SPARSE_COUNT);
  uint64_t first = view->secret[0], second = view->secret[1], third = view->secret[2];
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t masked = rules_sparse_word(places, key, mask, i);
    const uint32_t fold = i % RULES_BLOOM_FOLDS;
    first ^= fold == 0 ? masked : 0;
    second ^= fold == 1 ? masked : 0;
    third ^= fold == 2 ? masked : 0;
  }
  uint64_t sum = 0;
  if (count > 0) sum += (uint64_t)(uint32_t)first * (uint32_t)(first >> 32);
  if (count > 1) sum += (uint64_t)(uint32_t)second * (uint32_t)(second >> 32);
  if (count > 2) sum += (uint64_t)(uint32_t)third * (uint32_t)(third >> 32);
  return (uint32_t)(sum ^ sum >> 32);
}

PENUMBRA_SHADER uint32_t rules_sparse_matches(const struct rules_tuple_view* view, uint32_t number, uint32_t at,
                                              const uint64_t* key) {
  const struct rules_record* record = &view->record[number];
  const uint64_t places = rules_sparse_places(view, at);
  const uint32_t count = (uint32_t)(places >> RULES_SPARSE_COUNT);
  uint64_t difference = (record->ranges >> 1) ^ view->subtables[at].number;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t* const value =
        i < RULES_WORDS ? &record->value[i] : &view->more[(uint64_t)number * RULES_SPARSE_MORE + (i - RULES_WORDS)];
    difference |=
        (key[rules_sparse_place(places, i)] & rules_tuple_mask(view, at, i, RULES_SPARSE_ROWS)) ^ penumbra_load(value);
  }
  return difference == 0;
}

/* Asks the tables of the subtables in `walk->may_have`. */
PENUMBRA_SHADER void rules_sparse_take(const struct rules_tuple_view* view, struct rules_walk* walk,
                                       const uint64_t* key) {
  for (; walk->may_have != 0; walk->may_have &= walk->may_have - 1) {
    const uint32_t at = rules_walk_class(walk);
    uint32_t number = cuckoo_table_find(&view->cuckoo, rules_sparse_digest(view, at, key));
    while (number != RULES_NONE) {
      g_expensive(&view->record[number]);
      const struct rules_record* record = &view->record[number];
      if (record->rank > view->record[walk->best].rank && rules_sparse_matches(view, number, at, key) &&
          rules_is_there(record, walk->state)) {
        walk->best = number;
      }
      number = penumbra_load_first(&record->next);
    }
  }
}

/* Returns the subtables of the next group whose tables may have the key, by the marks of the first bucket. */
PENUMBRA_SHADER uint32_t rules_sparse_tuple_ask(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                                const uint64_t* key) {
  const uint64_t buckets = ((uint64_t)1 << view->cuckoo.bits) - 1;
  uint32_t may_have = 0;
  for (uint32_t lane = 0; lane < RULES_TUPLE_GROUP && walk->at + lane < walk->end; ++lane) {
    const uint64_t digest = rules_sparse_digest(view, walk->at + lane, key);
    const uint64_t marks = penumbra_load_first(&view->cuckoo.bucket[digest & buckets].marks);
    const uint64_t hits = cuckoo_table_hits(marks, cuckoo_table_mark(digest >> view->cuckoo.bits));
    may_have |= (uint32_t)((hits | marks >> CUCKOO_TABLE_ELSEWHERE_AT) != 0) << lane;
  }
  return may_have;
}

PENUMBRA_SHADER uint64_t rules_sparse_tuple_find(const struct rules_tuple_view* view, const uint64_t* key) {
  struct rules_walk walk = rules_walk_begin(view);
  for (; rules_walk_goes_on(view, &walk); walk.at += RULES_TUPLE_GROUP) {
    walk.may_have = rules_sparse_tuple_ask(view, &walk, key);
    rules_sparse_take(view, &walk, key);
  }
  return rules_sparse_answer(&walk);
}

/* Returns the subtables of the next group whose prefilters and filters pass the key, one bit each. */
PENUMBRA_SHADER uint32_t rules_sparse_bloom_ask(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                                const uint64_t* key) {
  uint32_t prefiltered = 0;
  for (uint32_t i = 0; i < RULES_BLOOM_GROUP && walk->at + i < walk->end; ++i) {
    const uint32_t at = walk->at + i;
    const uint64_t* const own = &view->group[rules_group_row(at, 0, RULES_SPARSE_ROWS) + at % RULES_TUPLE_GROUP];
    const uint64_t prefilter =
        penumbra_load_first(&own[((uint64_t)RULES_SPARSE_ROWS + (uint64_t)RULES_GROUP_PREFILTER) * RULES_TUPLE_GROUP]);
    const uint32_t half = rules_prefilter_half(prefilter);
    const uint64_t word = key[rules_sparse_place(rules_sparse_places(view, at), half / 2)];
    const uint64_t masked = (uint32_t)(word >> (32 * (half % 2))) & (uint32_t)prefilter;
    const uint64_t product = masked * (uint32_t)view->secret[0];
    prefiltered |= rules_prefilter_may_have(view->filter, prefilter, (uint32_t)(product ^ product >> 32)) << i;
  }
  uint32_t may_have = 0;
  for (; prefiltered != 0; prefiltered &= prefiltered - 1) {
    const uint32_t i = penumbra_trailing_zeros(prefiltered), at = walk->at + i;
    const uint64_t* const group = &view->group[rules_group_row(at, 0, RULES_SPARSE_ROWS) + at % RULES_TUPLE_GROUP];
    const uint64_t filter =
        penumbra_load_first(&group[((uint64_t)RULES_SPARSE_ROWS + (uint64_t)RULES_GROUP_FILTER) * RULES_TUPLE_GROUP]);
    const uint32_t hash = rules_sparse_bloom_hash(view, rules_sparse_places(view, at), key, group);
    may_have |= rules_bloom_may_have(view->filter, filter, hash) << i;
  }
  return may_have;
}

PENUMBRA_SHADER uint64_t rules_sparse_bloom_find(const struct rules_tuple_view* view, const uint64_t* key) {
  struct rules_walk walk = rules_walk_begin(view);
  for (; rules_walk_goes_on(view, &walk); walk.at += RULES_BLOOM_GROUP) {
    walk.may_have = rules_sparse_bloom_ask(view, &walk, key);
    rules_sparse_take(view, &walk, key);
  }
  return rules_sparse_answer(&walk);
}

/* Writes the answer for each key, by tuple search. */
PENUMBRA_SHADER void rules_tuple_sparse(struct rules_tuple_view view, const struct rules_sparse_key* key,
                                        uint64_t* answer, uint32_t n) {
  foreach (i, n) {
    answer[i] = rules_sparse_tuple_find(&view, key[i].word);
  }
}

/* Writes the answer for each key, by Bloom search. */
PENUMBRA_SHADER void rules_bloom_sparse(struct rules_tuple_view view, const struct rules_sparse_key* key,
                                        uint64_t* answer, uint32_t n) {
  foreach (i, n) {
    answer[i] = rules_sparse_bloom_find(&view, key[i].word);
  }
}

#endif
