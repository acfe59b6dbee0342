/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the longest prefix of a name, in whole components, in a table of names. A name of Named Data Networking has any
 * number of components of any length.
 *
 * The cuckoo table holds a digest of every prefix of every name in the table, down to one component. The prefixes of a
 * name are therefore present up to some length and absent beyond, and binary search finds that length. See M. Waldvogel
 * et al.: Scalable High Speed IP Routing Lookups, SIGCOMM 1997, with components for bits and a marker at every
 * component. A search takes at most NDN_NAMES_PROBES probes. The search ends early at a prefix that has no longer
 * prefixes.
 *
 * Digests are shorter than names, so the table's owner compares the result with the name (NameTable::next_hop). */
#ifndef PENUMBRA_SHADERS_NDN_NAMES_H
#define PENUMBRA_SHADERS_NDN_NAMES_H

#include "tables/cuckoo/cuckoo.shader.h"

enum {
  NDN_NAMES_COMPONENTS = 24, /* maximum components of a name in the table */
  NDN_NAMES_PROBES = 6,      /* the first at any length, and five among the rest */
  NDN_NAMES_DIGEST_BITS = 55,
  NDN_NAMES_NODE_BITS = 25,
  NDN_NAMES_NONE = 0 /* no prefix is present */
};

/* The key of a lookup. Values out of range are clamped, because engines measure shaders on random bytes. */
struct ndn_names_key {
  /* Number of digests, at most NDN_NAMES_COMPONENTS. Longer prefixes are not searched. */
  uint32_t components;
  uint32_t first;                        /* components of the first probe: 1 to `components` */
  uint64_t digest[NDN_NAMES_COMPONENTS]; /* of its first component, its first two, ... */
};

/* Writes the result for each name: its node in the lower NDN_NAMES_NODE_BITS bits, and above them the components of the
 * longest prefix. A value in the cuckoo table is a node above a lowest bit that is set if longer prefixes begin with
 * the prefix. */
PENUMBRA_SHADER void ndn_names_lookup(struct cuckoo_table_view view, const struct ndn_names_key* key, uint32_t* found,
                                      uint32_t n) {
  foreach (i, n) {
    uint32_t shortest = 1;
    uint32_t longest = key[i].components;
    if (longest > NDN_NAMES_COMPONENTS) longest = NDN_NAMES_COMPONENTS;
    uint32_t components = key[i].first;
    if (components - 1 >= longest) components = longest;
    uint32_t best = NDN_NAMES_NONE;
    while (shortest <= longest) {
      const uint32_t value = cuckoo_table_find(&view, key[i].digest[components - 1]);
      if (value == CUCKOO_TABLE_NOT_FOUND) {
        longest = components - 1;
      } else {
        best = components << NDN_NAMES_NODE_BITS | value >> 1;
        shortest = (value & 1) != 0 ? components + 1 : NDN_NAMES_COMPONENTS + 1;
      }
      components = (shortest + longest + 1) / 2;
    }
    found[i] = best;
  }
}

#endif
