/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest prefix of a name, in whole components, that a table of names knows: a name of Named Data Networking has
 * any number of components of any length.
 *
 * The cuckoo table holds a digest of every prefix of every name in the table, down to one component. So of the prefixes
 * of a name that is looked up the shorter ones are there, up to some length, and the longer ones are not, and binary
 * search finds where that changes (M. Waldvogel et al.: Scalable High Speed IP Routing Lookups, SIGCOMM 1997, with
 * components for bits and a marker at every one): NDN_NAMES_PROBES probes at the most, and where a prefix says that no
 * longer one begins like it, fewer.
 *
 * Digests are shorter than names. What is found is for the table's owner to compare (NameTable::next_hop). */
#ifndef PENUMBRA_SHADERS_NDN_NAMES_H
#define PENUMBRA_SHADERS_NDN_NAMES_H

#include "tables/cuckoo/cuckoo.shader.h"

enum {
  NDN_NAMES_COMPONENTS = 24, /* of a name in the table */
  NDN_NAMES_PROBES = 6,      /* the first wherever a search begins, and five among what then is left */
  NDN_NAMES_DIGEST_BITS = 55,
  NDN_NAMES_NODE_BITS = 25,
  NDN_NAMES_NONE = 0 /* of no component a prefix is there */
};

/* A name that is looked up. What is beyond these bounds is taken for the most that they allow: engines measure shaders
 * on random bytes. */
struct ndn_names_key {
  uint32_t components;                   /* of how many there is a digest, up to NDN_NAMES_COMPONENTS; no prefix of more
                                            is looked for */
  uint32_t first;                        /* how many components are tried first: 1 to `components` */
  uint64_t digest[NDN_NAMES_COMPONENTS]; /* of its first component, its first two, ... */
};

/* Writes what was found of each name: of how many components the longest prefix is, above NDN_NAMES_NODE_BITS, and its
 * node in these. A value in the cuckoo table is a node and, in the lowest bit, whether longer prefixes begin like it.
 */
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
