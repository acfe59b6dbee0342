/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 longest-prefix match in a table that a core's cache holds: DIR-24-8's first level with equal neighbours kept
 * once. Real tables give most of the 16,777,216 /24s what the /24 before has, so of 32 neighbours a 64-bit node tells
 * where values change (a set bit starts a run) and where the runs' values are (the idea of Degermark et al.: Small
 * Forwarding Tables for Fast Routing Lookups, SIGCOMM 1997; population counts in place of its tables as in Asai, Ohara:
 * Poptrie, SIGCOMM 2015). The nodes take 4 MiB, the values of a full table 2 MiB: two accesses an address, three where
 * prefixes longer than 24 bits are about. */
#ifndef PENUMBRA_SHADERS_IPV4_RUNS_H
#define PENUMBRA_SHADERS_IPV4_RUNS_H

#include "penumbra/shader.h"
#include "shaders/dir24_8/dir24_8.shader.h"

enum {
  IPV4_RUNS_NODE_SHIFT = 13, /* a node is of 32 /24s */
  IPV4_RUNS_NODES = 1 << (32 - IPV4_RUNS_NODE_SHIFT)
};

/* A node's low half has bit k set if its /24 number k starts a run, bit 0 always; the n-th run's value is element
 * (high half) + n of `values`, counting from 1 and modulo 2^32. Values are DIR-24-8's entries, groups as there. */
struct ipv4_runs_view {
  const uint64_t* nodes;
  const uint16_t* values;
  const uint16_t* tbl8;
};

/* Writes the next hop of each address (host byte order), or DIR24_8_NO_ROUTE. */
PENUMBRA_SHADER void ipv4_runs_lookup(struct ipv4_runs_view view, const uint32_t* address, uint16_t* next_hop,
                                      uint32_t n) {
  foreach (i, n) {
    const uint64_t* node_at = &view.nodes[address[i] >> IPV4_RUNS_NODE_SHIFT];
    g_expensive(node_at);
    uint64_t node = penumbra_load(node_at);
    /* What starts after the address's /24 is shifted out. */
    uint32_t run = penumbra_popcount((uint32_t)node << (~(address[i] >> 8) & 31));
    const uint16_t* slot = &view.values[(uint32_t)(node >> 32) + run];
    g_expensive(slot);
    uint16_t entry = penumbra_load(slot);
    if ((int16_t)entry < (int16_t)DIR24_8_NO_ROUTE) { /* as in dir24_8_lookup */
      slot = &view.tbl8[(uint32_t)(entry - DIR24_8_NEXT_HOPS) * DIR24_8_GROUP_ENTRIES + (address[i] & 0xFF)];
      g_expensive(slot);
      entry = penumbra_load(slot);
    }
    next_hop[i] = entry;
  }
}

#endif
