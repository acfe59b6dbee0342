/* SPDX-License-Identifier: Apache-2.0
 *
 * Classification by Bloom search (GSwitch, section IV.C): tuple search (rules_tuple.shader.h) that asks a class's Bloom
 * filter before the table. Most classes have no rule for a key, and a filter that says so is a word out of a few
 * hundred KiB instead of a cache line out of many MiB.
 *
 * A class's filter is 2^b words of 64 bits. A value has one word, by the uppermost b bits of its hash's upper half, and
 * in it three bits or four, by six bits each of that half from the lowest ones on (a blocked Bloom filter: Putze,
 * Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007, with a word for a block). So a question
 * costs one load, and the hash goes on to be the digest that the table is asked for. class_filters.h says how large
 * filters are. Where `filter` is 0 there is none: it leads to the first word, which is no filter's, and has all bits.
 *
 * First a group of classes is asked, without a branch that depends on an answer; then the table for those that may have
 * the value. */
#ifndef PENUMBRA_SHADERS_RULES_BLOOM_H
#define PENUMBRA_SHADERS_RULES_BLOOM_H

#include "shaders/rules_tuple/rules_tuple.shader.h"

enum {
  RULES_BLOOM_GROUP = 16, /* classes whose filters are asked together */
  RULES_BLOOM_BEGIN = 32, /* of a class's `filter`: the bit where the number of its first word begins */
  RULES_BLOOM_LAST = 8,   /* where the lowest of the hash's bits for the last of a value's bits begins */
  RULES_BLOOM_HASHES = 4  /* bits of a value */
};

/* Of a class's `filter`, the b of its 2^b words. */
PENUMBRA_SHADER uint32_t rules_bloom_bits(uint64_t filter) {
  return (uint32_t)filter & 0xFF;
}

PENUMBRA_SHADER uint64_t rules_bloom_word(uint64_t filter, uint64_t hash) {
  return (filter >> RULES_BLOOM_BEGIN) + (hash >> 32 >> (32 - rules_bloom_bits(filter)));
}

/* How far the word of a value is shifted for each of its bits to be the lowest one. The last may be the first again. */
PENUMBRA_SHADER uint32_t rules_bloom_bit(uint64_t filter, uint64_t hash, uint32_t function) {
  const uint32_t last = (uint32_t)(filter >> RULES_BLOOM_LAST) & 63;
  return (uint32_t)(hash >> 32 >> (function + 1 < RULES_BLOOM_HASHES ? 6 * function : last)) & 63;
}

/* In the lowest bit, whether the class may have a value of that hash. */
PENUMBRA_SHADER uint32_t rules_bloom_may_have(const struct rules_tuple_view* view, uint32_t at, uint64_t hash) {
  const uint64_t filter = penumbra_load_first(&view->classes[at].filter);
  const uint64_t bits = penumbra_load(&view->filter[rules_bloom_word(filter, hash)]);
  return (uint32_t)(bits >> rules_bloom_bit(filter, hash, 0) & bits >> rules_bloom_bit(filter, hash, 1) &
                    bits >> rules_bloom_bit(filter, hash, 2) & bits >> rules_bloom_bit(filter, hash, 3)) &
         1;
}

/* For which classes of the group that comes next their filters leave it open that they have a rule. */
PENUMBRA_SHADER uint32_t rules_bloom_ask(const struct rules_tuple_view* view, const struct rules_walk* walk,
                                         const uint64_t* key, uint32_t words) {
  const uint32_t there = walk->end - walk->at;
  const uint32_t group = there < RULES_BLOOM_GROUP ? there : (uint32_t)RULES_BLOOM_GROUP;
  uint32_t may_have = 0;
  for (uint32_t i = 0; i < group; ++i) {
    const uint64_t hash = rules_tuple_hash_in(view, walk->at + i, key, words);
    may_have |= rules_bloom_may_have(view, walk->at + i, hash) << i;
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
