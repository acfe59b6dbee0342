/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact match by cuckoo hashing (Pagh, Rodler: Cuckoo Hashing, 2001) with two buckets a key and seven slots a bucket,
 * after CuckooSwitch (Zhou, Fan, Lim, Kaminsky, Andersen: Scalable, High Performance Ethernet Forwarding with
 * CuckooSwitch, CoNEXT 2013). Shaders of other folders look up in it; it is none by itself.
 *
 * What is looked up is a digest: a number of up to 60 bits that whoever uses the table makes of a key. If the digest is
 * the key, permuted, then equal digests are equal keys and the value is the answer (the stations of a switch). If it is
 * a hash of a longer key, then the value is the number of a record that holds the key, to be compared there.
 *
 * A slot is one word: tag, whether it is in its second bucket, value. The lower bits of a digest are the number of its
 * first bucket and the others its tag, so that bucket, tag and the bit between them give the digest back (Knuth's
 * quotienting): nothing is compared beyond the line, and every change of a slot is one store. The second bucket follows
 * from the first and the tag, and the first from the second in the same way.
 *
 * A bucket is a cache line. Its first word has a byte for each slot, the lower bits of the tag there: they are all
 * compared at once, and which slots are worth a look is known (as in F14 and Swiss tables, whose bytes vector
 * instructions compare). Its uppermost byte counts the digests that lie in their second bucket although this is their
 * first. Where there are none, nearly everywhere in a table with room, who is not found here is nowhere.
 *
 * Why a reader never misses a digest while the owner moves it: the owner writes the copy, then raises `moves`, then
 * overwrites the original, each store a release. A reader loads `moves` first and last, and every slot, as acquires.
 * Say it reads c at first. Then it sees the copy that the c-th move made of whatever that moved, and everything that
 * lies elsewhere lies there visibly too. To miss a digest it must read, in a slot where that digest lay after c moves,
 * what was written there later. Of what a removal wrote it is right to miss it. A move overwrites only after it has
 * raised `moves` to c + 1 or more, and so the reader sees that at the end and looks again. A copy is a slot, then its
 * mark, then, if it lies in a second bucket, the count in the first; they go in the opposite order. So a digest that
 * is there has, in whatever a reader sees of its first bucket's marks, either its mark or the count: a reader to whom
 * they show neither need look no further. */
#ifndef PENUMBRA_SHADERS_CUCKOO_H
#define PENUMBRA_SHADERS_CUCKOO_H

#include "penumbra/shader.h"

enum {
  CUCKOO_TABLE_SLOTS = 7,
  CUCKOO_TABLE_NOT_FOUND = 0,
  CUCKOO_TABLE_ELSEWHERE_AT = 8 * CUCKOO_TABLE_SLOTS, /* the bit where the count in a bucket's marks begins */
  CUCKOO_TABLE_MANY_ELSEWHERE = 0xFF                  /* so many or more; it is counted no more then */
};

struct cuckoo_table_bucket {
  uint64_t marks;                    /* a byte for each slot, from the lowest, and the count */
  uint64_t slot[CUCKOO_TABLE_SLOTS]; /* 0 if empty */
};

struct cuckoo_table_view {
  const struct cuckoo_table_bucket* bucket;
  const uint32_t* moves; /* how often something was moved; wraps */
  uint64_t seed;         /* for those who make digests, so that nobody can choose keys that meet in a bucket */
  uint32_t bits;         /* 2^bits buckets, 1 at least */
  uint32_t value_bits;
};

/* What is added to the number of a digest's one bucket, without carries, to get its other one. Odd: the two differ. */
PENUMBRA_SHADER uint32_t cuckoo_table_jump(uint64_t tag, uint32_t bits) {
  return ((uint32_t)((tag * 0x9E3779B97F4A7C15U) >> 32) | 1) & ((1U << bits) - 1);
}

/* Of a tag, what the marks have. */
PENUMBRA_SHADER uint64_t cuckoo_table_mark(uint64_t tag) {
  return tag & 0xFF;
}

/* A bit for each slot whose mark this is, the uppermost one of its byte, and for few others: borrows from the bytes
 * below (Mycroft's test for a byte that is 0, over all bytes but the count's). */
PENUMBRA_SHADER uint64_t cuckoo_table_hits(uint64_t marks, uint64_t mark) {
  const uint64_t ones = 0x01010101010101U;
  const uint64_t difference = marks ^ mark * ones;
  return (difference - ones) & ~difference & ones << 7;
}

/* The value in this bucket of the slot that is `wanted` but for its value, among those that were hit, or
 * CUCKOO_TABLE_NOT_FOUND. If it is there it nearly always is the first. */
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

/* The value of a digest, or CUCKOO_TABLE_NOT_FOUND. Both buckets are asked for at one place: items that go on behind
 * different hints make the core guess which. What an item keeps meanwhile is little. */
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
