/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match for cores: three accesses an address, whatever the prefixes' lengths up to 60 bits and
 * more. The leading 24 bits choose an element of the root; that says by how many further bits the next element is
 * chosen, and that by how many a cache line (level compression, as in S. Nilsson, G. Karlsson: IP-Address Lookup Using
 * LC-Tries, JSAC 1999, but with the width of each step where the step before ends). A line holds where runs of
 * addresses with one answer start, in the next 32 bits, and the answers: counting the starts up to the address's takes
 * a few vector instructions and no branch that could be mispredicted. So dense parts of the address space have lines by
 * index and sparse ones share a line, and all of them the same course. */
#ifndef PENUMBRA_SHADERS_IPV6_RUNS_H
#define PENUMBRA_SHADERS_IPV6_RUNS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_RUNS_ROOT_BITS = 24,
  IPV6_RUNS_UNIT_BITS = 32, /* of an address behind those that choose the line: what a line can tell apart */
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

/* Which one an element leads to; `rest` begins with the bits that choose. */
PENUMBRA_SHADER uint32_t ipv6_runs_next(uint32_t element, uint64_t rest) {
  const uint32_t order = element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
  return (element >> IPV6_RUNS_ORDER_BITS) + (uint32_t)(rest >> 1 >> (63 - order));
}
PENUMBRA_SHADER uint32_t ipv6_runs_order(uint32_t element) {
  return element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
}

/* The address from bit `at`, less than 128, on. */
PENUMBRA_SHADER uint64_t ipv6_runs_rest(struct ipv6_address address, uint32_t at) {
  if (at >= 64) return address.low << (at - 64);
  return address.high << at | address.low >> 1 >> (63 - at);
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
    uint64_t rest = ipv6_runs_rest(address[i], IPV6_RUNS_ROOT_BITS);
    const uint32_t* element = &view.root[address[i].high >> (64 - IPV6_RUNS_ROOT_BITS)];
    g_expensive(element);
    uint32_t leads = penumbra_load_first(element);
    uint32_t at = IPV6_RUNS_ROOT_BITS + ipv6_runs_order(leads);
    element = &view.entries[ipv6_runs_next(leads, rest)];
    rest <<= ipv6_runs_order(leads);
    g_expensive(element);
    leads = penumbra_load_first(element);
    at += ipv6_runs_order(leads);
    const struct ipv6_runs_line* line = &view.lines[ipv6_runs_next(leads, rest)];
    rest <<= ipv6_runs_order(leads);
    g_expensive(line);
    uint16_t value = penumbra_load(&line->value[ipv6_runs_find(line, (uint32_t)(rest >> 32))]);
    while ((uint16_t)(value - 1) < IPV6_RUNS_DEEPER - 1) {
      const uint32_t first = penumbra_load(&view.deeper[line - view.lines]);
      if (value == IPV6_RUNS_WHOLE_LINE) {
        value = 1;
      } else {
        at += IPV6_RUNS_UNIT_BITS;
      }
      rest = ipv6_runs_rest(address[i], at);
      leads = penumbra_load_first(&view.entries[first + value - 1]);
      at += ipv6_runs_order(leads);
      line = &view.lines[ipv6_runs_next(leads, rest)];
      rest <<= ipv6_runs_order(leads);
      g_expensive(line);
      value = penumbra_load(&line->value[ipv6_runs_find(line, (uint32_t)(rest >> 32))]);
    }
    next_hop[i] = (uint16_t)~value;
  }
}

#endif
