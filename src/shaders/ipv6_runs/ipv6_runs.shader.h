/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match for cores: few lines, full ones, and no branch that is hard to guess. The leading 24 bits
 * choose an element of the root, and as many more as that says an entry, and where much stands that another one (level
 * compression, as in S. Nilsson, G. Karlsson: IP-Address Lookup Using LC-Tries, JSAC 1999). An entry leads to a cache
 * line that holds where runs of addresses with one answer start, in the 32 bits behind the root's, and the answers; or,
 * if there are more runs than fit into one, to a line that tells which of those behind it to take: a tree of two levels
 * with nodes as wide as a line (as in J. Rao, K. A. Ross: Making B+-Trees Cache Conscious in Main Memory, SIGMOD 2000).
 * So lines are full however uneven the table is, and a full table's fit into a core's caches. */
#ifndef PENUMBRA_SHADERS_IPV6_RUNS_H
#define PENUMBRA_SHADERS_IPV6_RUNS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_RUNS_ROOT_BITS = 24,
  IPV6_RUNS_UNIT_BITS = 32, /* of an address behind the root's, or behind the unit before: what lines can tell apart */
  IPV6_RUNS_OF_A_LINE = 11,
  IPV6_RUNS_LINES_OF_A_NODE = 15,
  /* The lower bits of an element of the root: by how many bits of the unit an entry is chosen. Of an entry: 0 if it
   * leads to a line of runs, or IPV6_RUNS_NODE, or more, by how many further bits another entry is chosen. */
  IPV6_RUNS_ORDER_BITS = 4,
  IPV6_RUNS_NODE = 1,
  /* Values of a line that are no answers. Number n, counting from 1, leads on to entry n - 1 of those that `deeper` has
   * for the line, which is about the next unit of the address; with IPV6_RUNS_OF_A_LINE more about this one. */
  IPV6_RUNS_DEEPER = 0x8000, /* less than this, but 0 */
};

/* Runs of units. The n-th one, counting from 0, has value[n]: an answer, inverted, so that memory of zeros has no
 * routes. It begins at unit start[n - 1]; run 0 where the line does. A line of fewer runs has them last, behind starts
 * of 0. */
struct ipv6_runs_leaf {
  uint32_t start[IPV6_RUNS_OF_A_LINE - 1];
  uint16_t value[IPV6_RUNS_OF_A_LINE];
  uint16_t unused;
};
/* A cache line. That of a node has the last units of the lines behind it, but the last one's; the others are
 * 0xFFFFFFFF. */
union ipv6_runs_line {
  struct ipv6_runs_leaf leaf;
  uint32_t last[16];
};

struct ipv6_runs_view {
  const uint32_t* root;    /* elements: the first of the entries that they choose among, and the order */
  const uint32_t* entries; /* the line, a node's or not, or the first of other entries */
  const union ipv6_runs_line* lines;
  const uint32_t* deeper; /* by line: the first entry */
};

PENUMBRA_SHADER uint32_t ipv6_runs_first(uint32_t element) {
  return element >> IPV6_RUNS_ORDER_BITS;
}
PENUMBRA_SHADER uint32_t ipv6_runs_order(uint32_t element) {
  return element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
}
/* The entry that an element leads to; `rest` begins with the bits that choose. */
PENUMBRA_SHADER uint32_t ipv6_runs_entry(uint32_t element, uint32_t rest) {
  return ipv6_runs_first(element) + (uint32_t)((uint64_t)rest >> (IPV6_RUNS_UNIT_BITS - ipv6_runs_order(element)));
}

/* The unit of the address that begins at bit `at`, 24 to 127. */
PENUMBRA_SHADER uint32_t ipv6_runs_unit(struct ipv6_address address, uint32_t at) {
  if (at >= 64) return (uint32_t)(address.low << (at - 64) >> 32);
  return (uint32_t)((address.high << at | address.low >> 1 >> (63 - at)) >> 32);
}

/* The run of the line that the unit is in: how many of the ten starts do not lie behind it. Without branches; a sum
 * over all of them takes no longer in vector registers, but GCC 12 makes wrong code of it. */
PENUMBRA_SHADER uint32_t ipv6_runs_find(const struct ipv6_runs_leaf* leaf, uint32_t unit) {
  uint32_t run = (uint32_t)(leaf->start[4] <= unit) * 5;
  run += (uint32_t)(leaf->start[run + 2] <= unit) * 3;
  return run + (leaf->start[run] <= unit) + (leaf->start[run + 1] <= unit);
}
/* Which of the lines behind a node's the unit is in. */
PENUMBRA_SHADER uint32_t ipv6_runs_find_line(const uint32_t* last, uint32_t unit) {
  uint32_t line = (uint32_t)(last[7] < unit) * 8;
  line += (uint32_t)(last[line + 3] < unit) * 4;
  line += (uint32_t)(last[line + 1] < unit) * 2;
  return line + (last[line] < unit);
}

/* The line of runs that an entry leads to. */
PENUMBRA_SHADER const union ipv6_runs_line* ipv6_runs_line_of(struct ipv6_runs_view view, uint32_t entry,
                                                              uint32_t unit) {
  const union ipv6_runs_line* line = &view.lines[ipv6_runs_first(entry)];
  g_expensive(line);
  if (ipv6_runs_order(entry) == IPV6_RUNS_NODE) {
    line += 1 + ipv6_runs_find_line(line->last, unit);
    g_expensive(line);
  }
  return line;
}

/* Writes the next hop of each address, or 0xFFFF. */
PENUMBRA_SHADER void ipv6_runs_lookup(struct ipv6_runs_view view, const struct ipv6_address* address,
                                      uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    uint32_t unit = (uint32_t)(address[i].high >> (64 - IPV6_RUNS_ROOT_BITS - IPV6_RUNS_UNIT_BITS));
    const uint32_t* element = &view.root[address[i].high >> (64 - IPV6_RUNS_ROOT_BITS)];
    g_expensive(element);
    uint32_t entry = penumbra_load_first(element);
    const uint32_t rest = unit << ipv6_runs_order(entry);
    element = &view.entries[ipv6_runs_entry(entry, unit)];
    g_expensive(element);
    entry = penumbra_load_first(element);
    if (ipv6_runs_order(entry) > IPV6_RUNS_NODE) {
      element = &view.entries[ipv6_runs_entry(entry, rest)];
      g_expensive(element);
      entry = penumbra_load_first(element);
    }
    const union ipv6_runs_line* line = ipv6_runs_line_of(view, entry, unit);
    uint16_t value = penumbra_load(&line->leaf.value[ipv6_runs_find(&line->leaf, unit)]);
    uint32_t at = IPV6_RUNS_ROOT_BITS;
    while ((uint16_t)(value - 1) < IPV6_RUNS_DEEPER - 1) {
      element = &view.entries[penumbra_load(&view.deeper[line - view.lines]) + value - 1];
      if (value > IPV6_RUNS_OF_A_LINE) {
        element -= IPV6_RUNS_OF_A_LINE;
      } else {
        at += IPV6_RUNS_UNIT_BITS;
        unit = ipv6_runs_unit(address[i], at);
      }
      line = ipv6_runs_line_of(view, penumbra_load_first(element), unit);
      value = penumbra_load(&line->leaf.value[ipv6_runs_find(&line->leaf, unit)]);
    }
    next_hop[i] = (uint16_t)~value;
  }
}

#endif
