/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact match by cuckoo hashing (Pagh, Rodler: Cuckoo Hashing, 2001) with two buckets a key and eight slots a bucket,
 * as in CuckooSwitch (Zhou, Fan, Lim, Kaminsky, Andersen: Scalable, High Performance Ethernet Forwarding with
 * CuckooSwitch, CoNEXT 2013). Shaders of other folders look up in it; it is none by itself.
 *
 * What is looked up is a digest: a number of up to 60 bits that whoever uses the table makes of a key. If the digest is
 * the key, permuted, then equal digests are equal keys and the value is the answer (the stations of a switch). If it is
 * a hash of a longer key, then the value is the number of a record that holds the key, to be compared there.
 *
 * A slot is one word: tag, whether it is in its second bucket, value. A bucket is a cache line. The lower bits of a
 * digest are the number of its first bucket and the others its tag, so that bucket, tag and the bit between them give
 * the digest back (Knuth's quotienting): nothing is compared beyond the line, and every change of a slot is one store.
 * The second bucket follows from the first and the tag, and the first from the second in the same way.
 *
 * Why a reader never misses a digest while the owner moves it: the owner writes the copy, then raises `moves`, then
 * overwrites the original, each store a release. A reader loads `moves` first and last, and every slot, as acquires.
 * Say it reads c at first. Then it sees the copy that the c-th move made of whatever that moved, and everything that
 * lies elsewhere lies there visibly too. To miss a digest it must read, in a slot where that digest lay after c moves,
 * what was written there later. Of what a removal wrote it is right to miss it. A move overwrites only after it has
 * raised `moves` to c + 1 or more, and so the reader sees that at the end and looks again. */
#ifndef PENUMBRA_SHADERS_CUCKOO_H
#define PENUMBRA_SHADERS_CUCKOO_H

#include "penumbra/shader.h"

enum { CUCKOO_TABLE_SLOTS = 8, CUCKOO_TABLE_NOT_FOUND = 0 };

struct cuckoo_table_bucket {
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

/* The value in this bucket of the slot that is `wanted` but for its value, or CUCKOO_TABLE_NOT_FOUND. All slots are
 * looked at: which one it is no core can guess, and a wrong guess costs more than the other slots do. At most one is
 * the right one; an empty one adds nothing. */
PENUMBRA_SHADER uint32_t cuckoo_table_search(const struct cuckoo_table_bucket* bucket, uint64_t wanted,
                                             uint32_t value_bits) {
  const uint64_t* slot = bucket->slot;
  uint64_t found = 0;
  for (uint32_t i = 0; i < CUCKOO_TABLE_SLOTS; ++i) {
    const uint64_t difference = penumbra_load_first(&slot[i]) ^ wanted;
    found |= difference >> value_bits == 0 ? difference : 0;
  }
  return (uint32_t)found;
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
    found = cuckoo_table_search(&view->bucket[place], (tag << 1 | second) << view->value_bits, view->value_bits);
    if (found != CUCKOO_TABLE_NOT_FOUND) break;
    if (second != 0) {
      const uint32_t moves_since = penumbra_load_first(view->moves);
      if (moves_since == moves) break;
      moves = moves_since;
    }
    place ^= cuckoo_table_jump(tag, view->bits);
    second ^= 1;
  }
  return found;
}

#endif
