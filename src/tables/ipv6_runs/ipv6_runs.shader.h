/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match for cores: three accesses an address, whatever the prefixes' lengths up to 56 bits. The
 * leading 24 bits choose an element of the root; that says by how many further bits the next element is chosen, and
 * that by how many a cache line (level compression, as in S. Nilsson, G. Karlsson: IP-Address Lookup Using LC-Tries,
 * JSAC 1999, but with the width of each step where the step before ends). A line holds where runs of addresses with one
 * answer start, in the 32 bits behind the root's, and the answers: counting the starts up to the address's takes a few
 * vector instructions and no branch that could be mispredicted. So dense parts of the address space have lines by index
 * and sparse ones share a line, and all of them the same course. */
#ifndef PENUMBRA_SHADERS_IPV6_RUNS_H
#define PENUMBRA_SHADERS_IPV6_RUNS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_RUNS_ROOT_BITS = 24,
  IPV6_RUNS_UNIT_BITS = 32, /* of an address behind the root's, or behind the unit before: what lines can tell apart */
  IPV6_RUNS_OF_A_LINE = 11,
  IPV6_RUNS_ORDER_BITS = 4, /* the lower bits of an element: by how many bits of the address the next one is chosen */
  /* Values of a line that are no answers. Number n, counting from 1, leads on, to element n - 1 behind the one that
   * `deeper` has for the line: */
  IPV6_RUNS_DEEPER = 0x8000, /* less than this, but 0 */
  IPV6_RUNS_WHOLE_LINE = 12, /* to element 0, and the line says nothing of the unit: it has more runs than fit */
};

/* A cache line. The n-th run, counting from 0, has value[n]: an answer, inverted, so that memory of zeros has no
 * routes. It begins at unit start[n - 1], run 0 at 0. A line of fewer runs has them last, behind starts of 0. */
struct ipv6_runs_line {
  uint32_t start[IPV6_RUNS_OF_A_LINE - 1];
  uint16_t value[IPV6_RUNS_OF_A_LINE];
  uint16_t unused;
};

struct ipv6_runs_view {
  const uint32_t* root;    /* elements: the first of what they choose among, and the order */
  const uint32_t* entries; /* likewise */
  const struct ipv6_runs_line* lines;
  const uint32_t* deeper; /* by line */
};

/* Which one an element leads to; `rest` is what is left of the unit, and begins with the bits that choose. */
PENUMBRA_SHADER uint32_t ipv6_runs_next(uint32_t element, uint32_t rest) {
  const uint32_t order = element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
  return (element >> IPV6_RUNS_ORDER_BITS) + (uint32_t)((uint64_t)rest >> (IPV6_RUNS_UNIT_BITS - order));
}
PENUMBRA_SHADER uint32_t ipv6_runs_order(uint32_t element) {
  return element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
}

/* The unit of the address that begins at bit `at`, 24 to 127. */
PENUMBRA_SHADER uint32_t ipv6_runs_unit(struct ipv6_address address, uint32_t at) {
  if (at >= 64) return (uint32_t)(address.low << (at - 64) >> 32);
  return (uint32_t)((address.high << at | address.low >> 1 >> (63 - at)) >> 32);
}

/* The run of the line that the unit is in: how many of the ten starts do not lie behind it. Without branches; a sum
 * over all of them takes no longer in vector registers, but GCC 12 makes wrong code of it. */
PENUMBRA_SHADER uint32_t ipv6_runs_find(const struct ipv6_runs_line* line, uint32_t unit) {
  uint32_t run = (uint32_t)(line->start[4] <= unit) * 5;
  run += (uint32_t)(line->start[run + 2] <= unit) * 3;
  return run + (line->start[run] <= unit) + (line->start[run + 1] <= unit);
}

/* Writes the next hop of each address, or 0xFFFF. */
PENUMBRA_SHADER void ipv6_runs_lookup(struct ipv6_runs_view view, const struct ipv6_address* address,
                                      uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    uint32_t unit = (uint32_t)(address[i].high >> (64 - IPV6_RUNS_ROOT_BITS - IPV6_RUNS_UNIT_BITS));
    const uint32_t* element = &view.root[address[i].high >> (64 - IPV6_RUNS_ROOT_BITS)];
    g_expensive(element);
    uint32_t leads = penumbra_load_first(element);
    element = &view.entries[ipv6_runs_next(leads, unit)];
    uint32_t rest = unit << ipv6_runs_order(leads);
    g_expensive(element);
    leads = penumbra_load_first(element);
    const struct ipv6_runs_line* line = &view.lines[ipv6_runs_next(leads, rest)];
    rest <<= ipv6_runs_order(leads);
    g_expensive(line);
    uint16_t value = penumbra_load(&line->value[ipv6_runs_find(line, unit)]);
    uint32_t at = IPV6_RUNS_ROOT_BITS;
    while ((uint16_t)(value - 1) < IPV6_RUNS_DEEPER - 1) {
      const uint32_t first = penumbra_load(&view.deeper[line - view.lines]);
      if (value == IPV6_RUNS_WHOLE_LINE) {
        value = 1;
      } else {
        at += IPV6_RUNS_UNIT_BITS;
        rest = unit = ipv6_runs_unit(address[i], at);
      }
      leads = penumbra_load_first(&view.entries[first + value - 1]);
      line = &view.lines[ipv6_runs_next(leads, rest)];
      rest <<= ipv6_runs_order(leads);
      g_expensive(line);
      value = penumbra_load(&line->value[ipv6_runs_find(line, unit)]);
    }
    next_hop[i] = (uint16_t)~value;
  }
}

#endif
