/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointer chasing: each item follows a chain of lines through a table by dependent accesses, as in lists, trees and
 * state machines. */
#ifndef PENUMBRA_BENCH_CHASE_SHADER_H
#define PENUMBRA_BENCH_CHASE_SHADER_H

#include "penumbra/shader.h"

/* A cache line. */
struct chase_line {
  uint32_t next; /* Number of a line. */
  uint32_t unused[15];
};

struct chase_view {
  const struct chase_line* line;
  uint32_t steps; /* Accesses of an item. */
  uint32_t work;  /* Multiplications between two accesses, for chase_and_work(). */
};

/* Writes the line at which each item ends that starts in line start[i]. */
PENUMBRA_SHADER void chase(struct chase_view view, const uint32_t* start, uint32_t* end, uint32_t n) {
  foreach (i, n) {
    uint32_t at = start[i];
    for (uint32_t step = 0; step < view.steps; ++step) {
      const struct chase_line* line = &view.line[at];
      g_expensive(line);
      at = line->next;
    }
    end[i] = at;
  }
}

/* Follows the same chains. Each access depends on a chain of multiplications, which depends on the access before.
 * Writes the result of all multiplications. */
PENUMBRA_SHADER void chase_and_work(struct chase_view view, const uint32_t* start, uint32_t* result, uint32_t n) {
  foreach (i, n) {
    uint32_t at = start[i], sum = 0;
    for (uint32_t step = 0; step < view.steps; ++step) {
      const struct chase_line* line = &view.line[at];
      g_expensive(line);
      at = line->next;
      uint32_t product = at;
      for (uint32_t round = 0; round < view.work; ++round) product = product * 0x9E3779B1U + step;
      sum += product;
      at ^= product & view.work & 0x80000000U; /* Always 0, but the core does not know that before the work is done. */
    }
    result[i] = sum;
  }
}

#endif
