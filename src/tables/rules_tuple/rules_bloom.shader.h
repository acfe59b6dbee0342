/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by Bloom search (GSwitch, section IV.C): tuple search (rules_tuple.shader.h) that asks the Bloom
 * filter of a subtable before the table. Most subtables have no rule for a key. A negative filter costs one word of a
 * few hundred KiB instead of a cache line of many MiB.
 *
 * The filter of a subtable has 2^b words of 64 bits. The uppermost b bits of a value's hash choose one word. Five hash
 * bits each, from the lowest on, choose the value's bits: two in each half of the word. This is a blocked Bloom filter
 * (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007) whose block is a word. A query
 * therefore costs one load. subtable_filters.h gives the sizes of filters. A `filter` of 0 means no filter, and refers
 * to the first word. The first word belongs to no filter and has all bits set.
 *
 * The prefilter of a subtable is asked before its filter. A prefilter has as many bits as the filter, but represents a
 * value by half of one word only. That half best separates the subtable's rules from other headers
 * (prefilter_choice.h). A value sets two bits in a half of a word. A prefilter lets more keys pass, but costs a third
 * of the work: one product, whatever the width of a key. The hash of all words is then needed for few subtables only.
 *
 * The prefilters of a group of subtables are asked first, without a branch that depends on an answer. Then the filters
 * and the table of the remaining subtables are asked. */
#ifndef PENUMBRA_SHADERS_RULES_BLOOM_H
#define PENUMBRA_SHADERS_RULES_BLOOM_H

#include "tables/rules_tuple/rules_tuple.shader.h"

enum {
  RULES_BLOOM_GROUP = 2 * RULES_TUPLE_GROUP /* number of subtables whose prefilters are asked together */
};

/* Returns true if the filter of the subtable at place `at` of the list passes the key. */
PENUMBRA_SHADER uint32_t rules_bloom_is_open(const struct rules_tuple_view* view, uint32_t at, const uint64_t* key,
                                             uint32_t words) {
  const uint64_t* const own = &view->group[rules_group_row(at, 0, words) + at % RULES_TUPLE_GROUP];
  const uint64_t filter = penumbra_load_first(&own[(uint64_t)((words + RULES_GROUP_FILTER) * RULES_TUPLE_GROUP)]);
  const uint32_t hash = rules_bloom_hash(view->secret, key, own, RULES_TUPLE_GROUP, words);
  return rules_bloom_may_have(view->filter, filter, hash);
}

/* Returns the subtables of the next group whose prefilters and filters pass the key, one bit each. */
PENUMBRA_SHADER uint32_t rules_bloom_ask(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                         const uint64_t* key, uint32_t words) {
  uint32_t prefiltered = 0;
  for (uint32_t i = 0; i < RULES_BLOOM_GROUP && walk->at + i < walk->end; i += RULES_TUPLE_GROUP) {
    const uint64_t* const group = &view->group[rules_group_row(walk->at + i, 0, words)];
    prefiltered |= rules_group_prefilter(view->secret, key, group, words, view->filter) << i;
  }
  uint32_t may_have = 0;
  for (prefiltered = rules_walk_there(walk, prefiltered); prefiltered != 0; prefiltered &= prefiltered - 1) {
    const uint32_t i = penumbra_trailing_zeros(prefiltered);
    may_have |= rules_bloom_is_open(view, walk->at + i, key, words) << i;
  }
  return may_have;
}

/* Returns the number of the winning rule of a key, or RULES_NONE. */
PENUMBRA_SHADER uint32_t rules_bloom_find(const struct rules_tuple_view* view, const uint64_t* key, uint32_t words) {
  struct rules_walk walk = rules_walk_begin(view);
  for (; rules_walk_goes_on(view, &walk); walk.at += RULES_BLOOM_GROUP) {
    walk.may_have = rules_bloom_ask(view, &walk, key, words);
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
PENUMBRA_SHADER void rules_bloom_narrow(struct rules_tuple_view view, const struct rules_narrow_key* key,
                                        uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_bloom_find(&view, key[i].word, RULES_NARROW_WORDS);
  }
}

/* Does the same for wide keys. */
PENUMBRA_SHADER void rules_bloom_wide(struct rules_tuple_view view, const struct rules_key* key, uint32_t* rule,
                                      uint32_t n) {
  foreach (i, n) {
    rule[i] = rules_bloom_find(&view, key[i].word, RULES_WORDS);
  }
}

#endif
