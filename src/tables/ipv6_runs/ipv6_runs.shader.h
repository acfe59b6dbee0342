/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match for CPU cores: three accesses per address for prefixes of up to 56 bits. The leading 24
 * bits choose an element of the root. That element tells how many further bits choose the next element, and the next
 * element tells how many choose a cache line. This is level compression, as in S. Nilsson, G. Karlsson: IP-Address
 * Lookup Using LC-Tries, JSAC 1999. Here, however, the element at the end of a step holds the width of the next step.
 *
 * A line holds the starts of runs of addresses with one answer, in the 32 bits after the root's bits, and the answers.
 * Counting the starts up to the address takes a few vector instructions and no branch that could be mispredicted. Dense
 * parts of the address space thus choose lines by index, sparse parts share a line, and all lookups take the same
 * steps. */
#ifndef PENUMBRA_SHADERS_IPV6_RUNS_H
#define PENUMBRA_SHADERS_IPV6_RUNS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_RUNS_ROOT_BITS = 24,
  /* Bits of an address after the root's bits, or after the previous unit, that a line compares. */
  IPV6_RUNS_UNIT_BITS = 32,
  IPV6_RUNS_OF_A_LINE = 11,
  /* Lower bits of an element: the number of address bits that choose the next element or line. */
  IPV6_RUNS_ORDER_BITS = 4,
  /* Values of a line below IPV6_RUNS_DEEPER, except 0, are not answers. Value n leads to element n - 1 after the
   * element that `deeper` has for the line. */
  IPV6_RUNS_DEEPER = 0x8000, /* values from here on are answers, like 0 */
  /* Leads to element 0 without consuming the unit, because the line has more runs than fit. */
  IPV6_RUNS_WHOLE_LINE = 12,
};

/* A cache line. Run n, counting from 0, has value[n]: an inverted answer, so that zeroed memory has no routes. Run n
 * begins at unit start[n - 1], and run 0 at unit 0. A line with fewer runs has them at the end, after starts of 0. */
struct ipv6_runs_line {
  uint32_t start[IPV6_RUNS_OF_A_LINE - 1];
  uint16_t value[IPV6_RUNS_OF_A_LINE];
  uint16_t unused;
};

struct ipv6_runs_view {
  const uint32_t* root;    /* elements: the first number to choose from, and the order */
  const uint32_t* entries; /* likewise */
  const struct ipv6_runs_line* lines;
  const uint32_t* deeper; /* by line */
};

/* Returns the number to which an element leads. `rest` is the rest of the unit and begins with the bits that choose. */
PENUMBRA_SHADER uint32_t ipv6_runs_next(uint32_t element, uint32_t rest) {
  const uint32_t order = element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
  return (element >> IPV6_RUNS_ORDER_BITS) + (uint32_t)((uint64_t)rest >> (IPV6_RUNS_UNIT_BITS - order));
}
PENUMBRA_SHADER uint32_t ipv6_runs_order(uint32_t element) {
  return element & ((1U << IPV6_RUNS_ORDER_BITS) - 1);
}

/* Returns the unit of the address that begins at bit `at`, 24 to 127. */
PENUMBRA_SHADER uint32_t ipv6_runs_unit(struct ipv6_address address, uint32_t at) {
  if (at >= 64) return (uint32_t)(address.low << (at - 64) >> 32);
  return (uint32_t)((address.high << at | address.low >> 1 >> (63 - at)) >> 32);
}

/* Returns the run of a unit in the line: the number of starts that are at most `unit`. The code has no branches. GCC 12
 * miscompiles a plain sum over all ten starts. */
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
