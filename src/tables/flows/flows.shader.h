/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the record of a packet's flow: the key is the 5-tuple of IPv4 or IPv6 with the VLAN, and the result is a
 * number. A cuckoo table (cuckoo.shader.h) maps a digest of the key to a record. The record holds the whole key, so a
 * lookup never confuses two flows. A lookup reads one cache line of the table, rarely two, and one line of the records.
 * That line also has the counters, so the counting that follows hits the cache. The record FLOWS_NO_RECORD belongs to
 * no flow and equals no key, because the tuple of every key has an address family. */
#ifndef PENUMBRA_SHADERS_FLOWS_H
#define PENUMBRA_SHADERS_FLOWS_H

#include "tables/cuckoo/cuckoo.shader.h"

enum { FLOWS_NO_RECORD = CUCKOO_TABLE_NOT_FOUND, FLOWS_SECRETS = 6 };

/* The bits of a record's tuple that are not part of the key: the TCP flags of its packets. In a key, these bits are
 * 0. */
#define FLOWS_FLAGS_MASK ((uint64_t)0xFF)

struct flow_key {
  uint64_t source[2];      /* an IPv6 address, first bytes first; an IPv4 address is in the second word */
  uint64_t destination[2]; /* like `source` */
  /* From the uppermost bit: source port (bits 63 to 48), destination port (47 to 32), protocol (31 to 24), address
   * family (23 and 22). The family is never 0. The VLAN is in bits 19 to 8. */
  uint64_t tuple;
};

struct flow_record {
  struct flow_key key; /* with the TCP flags of its packets */
  uint64_t packets;
  uint64_t bytes;
  uint32_t first; /* arrival of the first packet, in ms of a clock that wraps */
  uint32_t last;
};

struct flows_view {
  struct cuckoo_table_view cuckoo; /* digests to numbers of records */
  const struct flow_record* record;
  uint64_t secret[FLOWS_SECRETS];
  uint64_t digest_mask;
};

/* Returns the XOR of both halves of a product. Each bit depends on all bits of both factors. */
PENUMBRA_SHADER uint64_t flows_fold(uint64_t a, uint64_t b) {
  return (a * b) ^ penumbra_multiply_high(a, b);
}

/* Returns a keyed hash of a flow. An attacker without the secrets cannot choose flows that collide. The folded products
 * follow Wang Yi's wyhash; each word of the key is mixed with its own secret. */
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

/* Writes the number of each key's record, or FLOWS_NO_RECORD. Two loops with one hint each let the core predict
 * branches, because all items stop at the same hint. */
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
