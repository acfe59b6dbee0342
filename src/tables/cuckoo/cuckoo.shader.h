/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact match by cuckoo hashing (Pagh, Rodler: Cuckoo Hashing, 2001) with two buckets per key and seven slots per
 * bucket. The design follows CuckooSwitch (Zhou, Fan, Lim, Kaminsky, Andersen: Scalable, High Performance Ethernet
 * Forwarding with CuckooSwitch, CoNEXT 2013). Shaders of other folders call these functions; there is no cuckoo shader.
 *
 * The table maps digests to values. A digest is a number of up to 60 bits that the user of the table makes of a key. If
 * the digest is a permutation of the key, equal digests are equal keys and the value is the answer (the stations of a
 * switch). If the digest is a hash of a longer key, the value is the number of a record. The user then compares the key
 * with the key of the record.
 *
 * A slot is one word: tag, second-bucket bit, value. The lower bits of a digest are the number of its first bucket, and
 * the upper bits are its tag. Bucket, tag and second-bucket bit therefore determine the digest (quotienting, Knuth). A
 * comparison needs no memory outside the cache line, and every change of a slot is one store. The first bucket and the
 * tag determine the second bucket, and the second bucket and the tag determine the first.
 *
 * A bucket is a cache line. The first word of a bucket has one byte per slot with the lower bits of the tag. All bytes
 * are compared at once to find candidate slots, as in F14 and Swiss tables, which use vector instructions. The
 * uppermost byte counts the digests that lie in their second bucket and have this bucket as their first. If that count
 * is 0, a digest that is not in this bucket is nowhere. The count is 0 in most buckets of a table with free space.
 *
 * A reader never misses a digest that the owner moves. The owner writes the copy, then increments `moves`, then
 * overwrites the original. Each store is a release store. A reader loads `moves` first and last, and loads `moves` and
 * every slot with acquire. Let c be the first value of `moves`. The reader sees the copy of the c-th move and every
 * digest that lies elsewhere after c moves. To miss a digest, the reader must load a later store to a slot where the
 * digest lay after c moves. If the store is a removal, the miss is correct. A move overwrites a slot only after it has
 * incremented `moves` to at least c + 1. The reader then sees the new `moves` at the end and repeats the lookup.
 *
 * A copy stores the slot, then its mark, then the count of the first bucket if the copy lies in a second bucket. A
 * removal stores them in the opposite order. So the marks of the first bucket always show either the mark or a count
 * for a present digest. A reader that sees neither can stop. */
#ifndef PENUMBRA_SHADERS_CUCKOO_H
#define PENUMBRA_SHADERS_CUCKOO_H

#include "penumbra/shader.h"

enum {
  CUCKOO_TABLE_SLOTS = 7,
  CUCKOO_TABLE_NOT_FOUND = 0,
  CUCKOO_TABLE_ELSEWHERE_AT = 8 * CUCKOO_TABLE_SLOTS, /* bit position of the count in a bucket's marks */
  CUCKOO_TABLE_MANY_ELSEWHERE = 0xFF                  /* this many or more; the count then stays */
};

struct cuckoo_table_bucket {
  uint64_t marks;                    /* one byte per slot, from the lowest, and the count in the uppermost byte */
  uint64_t slot[CUCKOO_TABLE_SLOTS]; /* 0 if empty */
};

struct cuckoo_table_view {
  const struct cuckoo_table_bucket* bucket;
  const uint32_t* moves; /* number of moves; wraps */
  uint64_t seed;         /* for users, who make the digests: attackers cannot choose keys that collide */
  uint32_t bits;         /* 2^bits buckets, at least 1 */
  uint32_t value_bits;
};

/* Returns the XOR of the two bucket numbers of a digest. The result is odd, so the buckets differ. */
PENUMBRA_SHADER uint32_t cuckoo_table_jump(uint64_t tag, uint32_t bits) {
  return ((uint32_t)((tag * 0x9E3779B97F4A7C15U) >> 32) | 1) & ((1U << bits) - 1);
}

/* Returns the bits of a tag that the marks hold. */
PENUMBRA_SHADER uint64_t cuckoo_table_mark(uint64_t tag) {
  return tag & 0xFF;
}

/* Returns the uppermost bit of the byte of each slot that has this mark, and rarely of another slot. False hits come
 * from borrows of lower bytes (Mycroft's test for a zero byte, over all bytes except the count). */
PENUMBRA_SHADER uint64_t cuckoo_table_hits(uint64_t marks, uint64_t mark) {
  const uint64_t ones = 0x01010101010101U;
  const uint64_t difference = marks ^ mark * ones;
  return (difference - ones) & ~difference & ones << 7;
}

/* Returns the value of the hit slot that equals `wanted` in all other bits, or CUCKOO_TABLE_NOT_FOUND. A digest that is
 * present is nearly always in the first hit. */
PENUMBRA_SHADER uint32_t cuckoo_table_search(const struct cuckoo_table_bucket* bucket, uint64_t hits, uint64_t wanted,
                                             uint32_t value_bits) {
  uint32_t found = CUCKOO_TABLE_NOT_FOUND;
  while (hits != 0) {
    const uint64_t difference = penumbra_load_first(&bucket->slot[penumbra_trailing_zeros(hits) / 8]) ^ wanted;
    if (difference >> value_bits == 0) {
      found = (uint32_t)difference;
      if (found != CUCKOO_TABLE_NOT_FOUND) break;
    }
    hits &= hits - 1;
  }
  return found;
}

/* Returns the value of a digest, or CUCKOO_TABLE_NOT_FOUND. One hint serves both buckets: items that resume after
 * different hints cause branch mispredictions. An item keeps little state across the hint. */
PENUMBRA_SHADER uint32_t cuckoo_table_find(const struct cuckoo_table_view* view, uint64_t digest) {
  uint32_t moves = penumbra_load_first(view->moves);
  uint32_t place = (uint32_t)digest & ((1U << view->bits) - 1);
  uint32_t second = 0;
  uint32_t found = CUCKOO_TABLE_NOT_FOUND;
  for (;;) {
    g_expensive(&view->bucket[place]);
    const uint64_t tag = digest >> view->bits;
    const uint64_t marks = penumbra_load_first(&view->bucket[place].marks);
    const uint64_t hits = cuckoo_table_hits(marks, cuckoo_table_mark(tag));
    found = cuckoo_table_search(&view->bucket[place], hits, (tag << 1 | second) << view->value_bits, view->value_bits);
    if (found != CUCKOO_TABLE_NOT_FOUND) break;
    if (second != 0) {
      const uint32_t moves_since = penumbra_load_first(view->moves);
      if (moves_since == moves) break;
      moves = moves_since;
    } else if ((marks >> CUCKOO_TABLE_ELSEWHERE_AT | hits) == 0) {
      break;
    }
    place ^= cuckoo_table_jump(tag, view->bits);
    second ^= 1;
  }
  return found;
}

#endif
