/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a station of a switched network: VLAN and MAC address to a value. The table is a cuckoo table whose digests are
 * permuted keys. */
#ifndef PENUMBRA_SHADERS_L2_H
#define PENUMBRA_SHADERS_L2_H

#include "tables/cuckoo/cuckoo.shader.h"

enum { L2_KEY_BITS = 60, L2_VALUE_BITS = 16, L2_UNKNOWN = CUCKOO_TABLE_NOT_FOUND };

#define L2_KEY_MASK (((uint64_t)1 << L2_KEY_BITS) - 1)
#define L2_FACTOR_1 0x9E3779B97F4A7C15U
#define L2_FACTOR_2 0xD6E8FEB86659FD93U

/* Returns a permutation of the keys: every step is invertible. A key is VLAN << 48 | MAC address. */
PENUMBRA_SHADER uint64_t l2_digest(uint64_t seed, uint64_t key) {
  uint64_t x = (key ^ seed) & L2_KEY_MASK;
  x = ((x ^ (x >> 31)) * L2_FACTOR_1) & L2_KEY_MASK;
  x = ((x ^ (x >> 29)) * L2_FACTOR_2) & L2_KEY_MASK;
  return x ^ (x >> 32);
}

/* Writes the value of each key (VLAN << 48 | MAC address in host byte order), or L2_UNKNOWN. */
PENUMBRA_SHADER void l2_lookup(struct cuckoo_table_view view, const uint64_t* key, uint16_t* value, uint32_t n) {
  foreach (i, n) {
    const uint32_t found = cuckoo_table_find(&view, l2_digest(view.seed, key[i]));
    value[i] = (uint16_t)found;
  }
}

#endif
