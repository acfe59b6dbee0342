/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by Bloom search (GSwitch, section IV.C): tuple search (rules_tuple.shader.h) that asks a class's Bloom
 * filter before the table. Most subtables have no rule for a key, and a filter that says so is a word out of a few
 * hundred KiB instead of a cache line out of many MiB.
 *
 * A class's filter is 2^b words of 64 bits. A value has one word, by the uppermost b bits of its hash, and in it two
 * bits of either half, by five bits each of the hash from the lowest ones on (a blocked Bloom filter: Putze, Sanders,
 * Singler: Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007, with a word for a block). So a question costs one
 * load. subtable_filters.h says how large filters are. Where `filter` is 0 there is none: it leads to the first word,
 * which is no filter's, and has all bits.
 *
 * Before its filter a class is asked by its prefilter, a filter of as many bits in which a value is known by half of
 * one word only, the half that tells the class's rules best from headers of others (prefilter_choice.h). In a half of a
 * word it has two bits. A prefilter lets more through, but asking it takes a third of the work: one product, however
 * many words a key has. Few subtables are left for which the hash of all words is computed.
 *
 * First the prefilters of a group of subtables are asked, without a branch that depends on an answer, then the filters
 * and the table of those that may have the value. */
#ifndef PENUMBRA_SHADERS_RULES_BLOOM_H
#define PENUMBRA_SHADERS_RULES_BLOOM_H

#include "tables/rules_tuple/rules_tuple.shader.h"

enum {
  RULES_BLOOM_GROUP = 2 * RULES_TUPLE_GROUP /* subtables whose prefilters are asked together */
};

/* Whether the filter of the class at a place of the list leaves it open that it has a rule. */
PENUMBRA_SHADER uint32_t rules_bloom_is_open(const struct rules_tuple_view* view, uint32_t at, const uint64_t* key,
                                             uint32_t words) {
  const uint64_t* const own = &view->group[rules_group_row(at, 0, words) + at % RULES_TUPLE_GROUP];
  const uint64_t filter = penumbra_load_first(&own[(uint64_t)((words + RULES_GROUP_FILTER) * RULES_TUPLE_GROUP)]);
  const uint32_t hash = rules_bloom_hash(view->secret, key, own, RULES_TUPLE_GROUP, words);
  return rules_bloom_may_have(view->filter, filter, hash);
}

/* For which subtables of the group that comes next their prefilters and filters leave it open that they have a rule. */
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

/* Writes the number of the rule that wins of each key, or RULES_NONE. */
PENUMBRA_SHADER void rules_bloom_narrow(struct rules_tuple_view view, const struct rules_narrow_key* key,
                                        uint32_t* rule, uint32_t n) {
  foreach (i, n) {
    struct rules_walk walk = rules_walk_begin(&view);
    for (; rules_walk_goes_on(&view, &walk); walk.at += RULES_BLOOM_GROUP) {
      walk.may_have = rules_bloom_ask(&view, &walk, key[i].word, RULES_NARROW_WORDS);
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
PENUMBRA_SHADER void rules_bloom_wide(struct rules_tuple_view view, const struct rules_key* key, uint32_t* rule,
                                      uint32_t n) {
  foreach (i, n) {
    struct rules_walk walk = rules_walk_begin(&view);
    for (; rules_walk_goes_on(&view, &walk); walk.at += RULES_BLOOM_GROUP) {
      walk.may_have = rules_bloom_ask(&view, &walk, key[i].word, RULES_WORDS);
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
