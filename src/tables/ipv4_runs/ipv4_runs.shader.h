/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 longest-prefix match in a table that fits the cache of a core: the first level of DIR-24-8 with equal neighbours
 * stored once. In real tables, most of the 16,777,216 /24s have the same entry as the /24 before. If a whole /16 has
 * one value, the root has the value. Any other /16 has a line of eight 64-bit nodes. A node describes 32 /24s: the bits
 * where values change (a set bit starts a run), and the index of the runs' values. The idea is from Degermark et al.:
 * Small Forwarding Tables for Fast Routing Lookups, SIGCOMM 1997. Population counts replace its tables, as in Asai,
 * Ohara: Poptrie, SIGCOMM 2015.
 *
 * In a full Internet table the root takes 256 KiB, the lines 1.6 MiB and the values 2.5 MiB. A lookup makes one or
 * three accesses, or four in a /24 with prefixes longer than 24 bits. */
#ifndef PENUMBRA_SHADERS_IPV4_RUNS_H
#define PENUMBRA_SHADERS_IPV4_RUNS_H

#include "penumbra/shader.h"
#include "tables/dir24_8/dir24_8.shader.h"

enum {
  IPV4_RUNS_ROOT_SHIFT = 16, /* an element of the root describes a /16 */
  IPV4_RUNS_ROOT_ELEMENTS = 1 << (32 - IPV4_RUNS_ROOT_SHIFT),
  IPV4_RUNS_NODE_SHIFT = 13, /* a node describes 32 /24s */
  IPV4_RUNS_NODES_OF_A_LINE = 1 << (IPV4_RUNS_ROOT_SHIFT - IPV4_RUNS_NODE_SHIFT),
  IPV4_RUNS_LINES = 0x10000 /* a larger or equal element refers to line number (element - IPV4_RUNS_LINES) */
};

/* Values are the entries of DIR-24-8, including groups. An element of the root that refers to no line is a value, but
 * not a group. Bit k of a node's low half is set if /24 number k of the node starts a run; bit 0 is always set. The
 * value of the n-th run, counting from 1, is element (high half) + n of `values`, modulo 2^32. */
struct ipv4_runs_view {
  const uint32_t* root;
  const uint64_t* nodes;
  const uint16_t* values;
  const uint16_t* tbl8;
};

/* Writes the next hop of each address (host byte order), or DIR24_8_NO_ROUTE. */
PENUMBRA_SHADER void ipv4_runs_lookup(struct ipv4_runs_view view, const uint32_t* address, uint16_t* next_hop,
                                      uint32_t n) {
  foreach (i, n) {
    const uint32_t element = penumbra_load_first(&view.root[address[i] >> IPV4_RUNS_ROOT_SHIFT]);
    uint16_t entry = (uint16_t)element;
    if (element >= IPV4_RUNS_LINES) {
      const uint32_t number = address[i] >> IPV4_RUNS_NODE_SHIFT & (IPV4_RUNS_NODES_OF_A_LINE - 1);
      const uint64_t* node_at = &view.nodes[(element - IPV4_RUNS_LINES) * IPV4_RUNS_NODES_OF_A_LINE + number];
      g_expensive(node_at);
      uint64_t node = penumbra_load(node_at);
      /* The shift removes the starts after the address's /24. */
      uint32_t run = penumbra_popcount((uint32_t)node << (~(address[i] >> 8) & 31));
      const uint16_t* slot = &view.values[(uint32_t)(node >> 32) + run];
      g_expensive(slot);
      entry = penumbra_load(slot);
      if ((int16_t)entry < (int16_t)DIR24_8_NO_ROUTE) { /* as in dir24_8_lookup */
        slot = &view.tbl8[(uint32_t)(entry - DIR24_8_NEXT_HOPS) * DIR24_8_GROUP_ENTRIES + (address[i] & 0xFF)];
        g_expensive(slot);
        entry = penumbra_load(slot);
      }
    }
    next_hop[i] = entry;
  }
}

#endif
