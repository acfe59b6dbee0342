/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match in a trie with a root of 24 bits and nodes of 8 bits. DPDK's rte_lpm6 and the G-Opt paper
 * (Kalia, Zhou, Kaminsky, Andersen, NSDI 2015) use the same structure. A lookup makes one memory access, and one more
 * for each 8 bits beyond 24 of prefixes along the path; at most 14.
 *
 * An entry with IPV6_TRIE_NODE set leads to a node. Any other entry is the answer for all its addresses. The lower 16
 * bits of an answer are the inverted next hop, so that zeroed memory has no routes. The upper bits belong to the owner.
 * The root consists of nodes 0 to 0xFFFF. */
#ifndef PENUMBRA_SHADERS_IPV6_TRIE_H
#define PENUMBRA_SHADERS_IPV6_TRIE_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_TRIE_ROOT_BITS = 24,
  IPV6_TRIE_NODE_BITS = 8,
  IPV6_TRIE_NODE_ENTRIES = 256,
};
#define IPV6_TRIE_NODE 0x80000000U /* an entry with this bit is the number of a node */

struct ipv6_trie_view {
  const uint32_t* entries;
};

/* Writes the next hop of each address, or 0xFFFF. */
PENUMBRA_SHADER void ipv6_trie_lookup(struct ipv6_trie_view view, const struct ipv6_address* address,
                                      uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    /* The bits of the address after the root's bits: the next 64 bits, and the rest in `later`. */
    uint64_t rest = address[i].high << IPV6_TRIE_ROOT_BITS | address[i].low >> (64 - IPV6_TRIE_ROOT_BITS);
    uint64_t later = address[i].low << IPV6_TRIE_ROOT_BITS;
    const uint32_t* slot = &view.entries[address[i].high >> (64 - IPV6_TRIE_ROOT_BITS)];
    for (;;) {
      g_expensive(slot);
      const uint32_t entry = penumbra_load(slot);
      if (entry < IPV6_TRIE_NODE) {
        next_hop[i] = (uint16_t)~entry;
        break;
      }
      slot = &view.entries[(uint64_t)(entry - IPV6_TRIE_NODE) * IPV6_TRIE_NODE_ENTRIES + (rest >> 56)];
      rest = rest << IPV6_TRIE_NODE_BITS | later >> (64 - IPV6_TRIE_NODE_BITS);
      later <<= IPV6_TRIE_NODE_BITS;
    }
  }
}

#endif
