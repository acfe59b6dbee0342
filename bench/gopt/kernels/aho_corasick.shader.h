/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches payloads for many patterns at once (Aho, Corasick: Efficient String Matching, 1975), with one access per
 * byte to a table of the automaton's moves. */
#ifndef PENUMBRA_BENCH_AHO_CORASICK_SHADER_H
#define PENUMBRA_BENCH_AHO_CORASICK_SHADER_H

#include "penumbra/shader.h"

#define AHO_CORASICK_MATCH 0x80000000U /* Flag of a move: a pattern ends here; the rest is the next state. */

struct aho_corasick_view {
  const uint32_t* moves; /* 256 per state; the states of all automata are contiguous. */
};

PENUMBRA_SHADER const uint32_t* aho_corasick_move(struct aho_corasick_view view, uint32_t state, uint8_t byte) {
  return &view.moves[(uint64_t)(state & ~AHO_CORASICK_MATCH) * 256 + byte];
}

/* Writes for each payload at how many of its bytes a pattern ends; `root` is the first state of its automaton. */
PENUMBRA_SHADER void aho_corasick_scan(struct aho_corasick_view view, const uint8_t* payload, const uint32_t* offset,
                                       const uint32_t* length, const uint32_t* root, uint32_t* matches, uint32_t n) {
  foreach (i, n) {
    const uint8_t* at = payload + offset[i];
    const uint8_t* const end = at + length[i];
    uint32_t state = root[i], found = 0;
    while (at != end) {
      const uint32_t* move = aho_corasick_move(view, state, *at++);
      g_expensive(move);
      state = *move;
      found += state >> 31;
    }
    matches[i] = found;
  }
}

#endif
