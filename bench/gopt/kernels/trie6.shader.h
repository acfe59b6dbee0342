/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match in a trie of bytes, like DPDK's rte_lpm6: a root of one to three bytes, then nodes of one
 * byte each. Prefixes of 48 to 64 bits take 4 to 6 accesses below a root of three bytes. */
#ifndef PENUMBRA_BENCH_TRIE6_SHADER_H
#define PENUMBRA_BENCH_TRIE6_SHADER_H

#include "penumbra/shader.h"

enum { TRIE6_NODE_ENTRIES = 256 };
#define TRIE6_NODE 0x80000000U /* Flag of an entry that is a node's number; else a next hop; 0: no route. */

struct trie6_address {
  uint8_t byte[16]; /* In network byte order. */
};

struct trie6_view {
  const uint32_t* root;
  const uint32_t* nodes;
  uint32_t root_bytes; /* Bytes of an address that index the root. */
};

PENUMBRA_SHADER uint32_t trie6_root_index(struct trie6_view view, const struct trie6_address* address) {
  const uint32_t three =
      (uint32_t)address->byte[0] << 16 | (uint32_t)address->byte[1] << 8 | (uint32_t)address->byte[2];
  return three >> (24 - 8 * view.root_bytes);
}

PENUMBRA_SHADER const uint32_t* trie6_slot(struct trie6_view view, uint32_t entry, uint8_t byte) {
  return &view.nodes[(uint64_t)(entry - TRIE6_NODE) * TRIE6_NODE_ENTRIES + byte];
}

/* Writes the next hop of each address, or 0. */
PENUMBRA_SHADER void trie6_match(struct trie6_view view, const struct trie6_address* address, uint32_t* next_hop,
                                 uint32_t n) {
  foreach (i, n) {
    const uint32_t* slot = &view.root[trie6_root_index(view, &address[i])];
    const uint8_t* byte = &address[i].byte[view.root_bytes];
    for (;;) {
      g_expensive(slot);
      const uint32_t entry = *slot;
      if (entry < TRIE6_NODE) {
        next_hop[i] = entry;
        break;
      }
      slot = trie6_slot(view, entry, *byte++);
    }
  }
}

#endif
