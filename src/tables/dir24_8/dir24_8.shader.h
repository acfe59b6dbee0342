/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv4 longest-prefix match by DIR-24-8 (Gupta, Lin, McKeown: Routing Lookups in Hardware at Memory Access Speeds,
 * INFOCOM 1998) with 16-bit entries. A lookup makes one memory access, or two in a /24 with prefixes longer than 24
 * bits.
 *
 * tbl24 has an entry for each /24: a next hop, a second-level group, or no route. tbl8 has 256 entries per group, one
 * for each address of its /24: a next hop or no route. */
#ifndef PENUMBRA_SHADERS_DIR24_8_H
#define PENUMBRA_SHADERS_DIR24_8_H

#include "penumbra/shader.h"

enum {
  DIR24_8_NEXT_HOPS = 0x8000, /* entries below this are next hops */
  DIR24_8_GROUPS = 0x7FFF,    /* entry DIR24_8_NEXT_HOPS + g is group g */
  DIR24_8_GROUP_ENTRIES = 256,
  DIR24_8_NO_ROUTE = 0xFFFF
};

struct dir24_8_view {
  const uint16_t* tbl24;
  const uint16_t* tbl8;
};

/* Writes the next hop of each address (host byte order), or DIR24_8_NO_ROUTE. */
PENUMBRA_SHADER void dir24_8_lookup(struct dir24_8_view view, const uint32_t* address, uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    const uint16_t* slot = &view.tbl24[address[i] >> 8];
    g_expensive(slot);
    uint16_t entry = penumbra_load(slot);
    /* As signed numbers, next hops are at least 0, no route is -1, and groups are less than -1. One comparison
     * therefore suffices. Few instructions depend on the load, so that a core has more lookups in flight. */
    if ((int16_t)entry < (int16_t)DIR24_8_NO_ROUTE) {
      slot = &view.tbl8[(uint32_t)(entry - DIR24_8_NEXT_HOPS) * DIR24_8_GROUP_ENTRIES + (address[i] & 0xFF)];
      g_expensive(slot);
      entry = penumbra_load(slot);
    }
    next_hop[i] = entry;
  }
}

#endif
