/* SPDX-License-Identifier: Apache-2.0
 *
 * Which record a packet's flow has: the 5-tuple of IPv4 or IPv6, with the VLAN, to the number of a record. A cuckoo
 * table (cuckoo.shader.h) leads from a digest of the key to a record, which holds the whole key: two flows are never
 * taken for one. A lookup reads a cache line of the table, seldom two, and one of the records, on which stand the
 * counters too: whoever found a record has what it will change at hand. The record FLOWS_NO_RECORD is no flow's, and
 * equals no key: every key's tuple has a family. */
#ifndef PENUMBRA_SHADERS_FLOWS_H
#define PENUMBRA_SHADERS_FLOWS_H

#include "tables/cuckoo/cuckoo.shader.h"

enum { FLOWS_NO_RECORD = CUCKOO_TABLE_NOT_FOUND, FLOWS_SECRETS = 6 };

/* What of a record's tuple is no key: the TCP flags that were seen. They are 0 in a key. */
#define FLOWS_FLAGS_MASK ((uint64_t)0xFF)

struct flow_key {
  uint64_t source[2];      /* an IPv6 address, its first bytes first; an IPv4 address stands in the second word */
  uint64_t destination[2]; /* likewise */
  /* Source port (bits 63 to 48), destination port (47 to 32), protocol (31 to 24), address family (23 and 22; never
   * 0), VLAN (19 to 8). */
  uint64_t tuple;
};

struct flow_record {
  struct flow_key key; /* with the flags of its packets */
  uint64_t packets;
  uint64_t bytes;
  uint32_t first; /* when its first packet came, in ms of a clock that wraps */
  uint32_t last;
};

struct flows_view {
  struct cuckoo_table_view cuckoo; /* of numbers of records, by digests */
  const struct flow_record* record;
  uint64_t secret[FLOWS_SECRETS];
  uint64_t digest_mask;
};

/* The halves of a product, combined: each bit depends on all bits of both factors. */
PENUMBRA_SHADER uint64_t flows_fold(uint64_t a, uint64_t b) {
  return (a * b) ^ penumbra_multiply_high(a, b);
}

/* A keyed hash of a flow: who does not know the secrets cannot choose flows that meet. Folded products as in Wang Yi's
 * wyhash, each factor of the key's mixed with a secret of its own. */
PENUMBRA_SHADER uint64_t flows_digest(const struct flows_view* view, const struct flow_key* key) {
  const uint64_t* secret = view->secret;
  const uint64_t addresses = flows_fold(key->source[0] ^ secret[0], key->source[1] ^ secret[1]) ^
                             flows_fold(key->destination[0] ^ secret[2], key->destination[1] ^ secret[3]);
  return flows_fold(addresses ^ secret[4], key->tuple ^ secret[5]) & view->digest_mask;
}

PENUMBRA_SHADER uint32_t flows_has_key(const struct flow_record* record, const struct flow_key* key) {
  const uint64_t difference = (record->key.source[0] ^ key->source[0]) | (record->key.source[1] ^ key->source[1]) |
                              (record->key.destination[0] ^ key->destination[0]) |
                              (record->key.destination[1] ^ key->destination[1]) |
                              ((penumbra_load(&record->key.tuple) & ~FLOWS_FLAGS_MASK) ^ key->tuple);
  return difference == 0;
}

/* Writes the number of each key's record, or FLOWS_NO_RECORD. In two loops, with a hint in each: where all
 * items stop at the same one the core guesses right what comes next, and gopt's code is a third faster. */
PENUMBRA_SHADER void flows_lookup(struct flows_view view, const struct flow_key* key, uint32_t* record, uint32_t n) {
  foreach (i, n) {
    const uint32_t found = cuckoo_table_find(&view.cuckoo, flows_digest(&view, &key[i]));
    record[i] = found;
  }
  foreach (i, n) {
    const uint32_t found = record[i];
    g_expensive(&view.record[found]);
    if (flows_has_key(&view.record[found], &key[i]) == 0) record[i] = FLOWS_NO_RECORD;
  }
}

#endif
