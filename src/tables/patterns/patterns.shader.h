/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which of many byte strings occur in texts (Aho, Corasick, CACM 1975), without regard to the case of ASCII
 * letters. The automaton is stored compactly. Moves into states that have read three bytes of a pattern or more are
 * entries of a double array. The move of a state by a byte is at the base of the state plus the class of the byte, and
 * valid if its check is that base. Any other move depends on the last two bytes only, and is in a second table. So both
 * reads of a byte are independent of each other. */
#ifndef PENUMBRA_PATTERNS_H
#define PENUMBRA_PATTERNS_H

#include "penumbra/shader.h"

enum { PATTERNS_MOST_FOUND = 6, PATTERNS_PREFIX_BITS = 17, PATTERNS_SHORT_BITS = 12, PATTERNS_COLUMNS = 4 };

/* A move of the double array. */
struct patterns_move {
  uint32_t check; /* base of the state that it leaves */
  uint32_t next;  /* base of the state that it enters; PATTERNS_MATCH if patterns end there */
};

#define PATTERNS_MATCH 0x80000000U
/* A state that no text has reached: the one to begin a text with. Other states of the columns have the base of the
 * automaton's state in bits 8 to 30 and the last byte below. */
#define PATTERNS_BEGIN 0x80000000U

struct patterns_view {
  const struct patterns_move* move;
  const uint32_t* found;     /* the set of patterns that end where a move enters, by the move's index */
  const uint32_t* pair;      /* base of the state after two bytes, by first byte + 256 * second byte */
  const uint8_t* byte_class; /* of each byte: 0 if no pattern has it */
  /* For forms with a prefilter: the buckets of patterns whose first to fourth byte a byte may be; a bit for each
   * patterns_prefix_slot() of the first four bytes, and then for each patterns_short_slot() of patterns of three. */
  const uint8_t* column;
  const uint32_t* prefix;
  uint32_t generation;
};

/* Returns the bit of four bytes, the first one lowest, without regard to case. */
PENUMBRA_SHADER uint32_t patterns_prefix_slot(uint32_t bytes) {
  return ((bytes | 0x20202020U) * 0x9E3779B1U) >> (32 - PATTERNS_PREFIX_BITS);
}
/* Returns the bit of the first three of four bytes. */
PENUMBRA_SHADER uint32_t patterns_short_slot(uint32_t bytes) {
  const uint32_t slots = 1U << PATTERNS_PREFIX_BITS;
  return slots + ((((bytes | 0x20202020U) << 8) * 0x9E3779B1U) >> (32 - PATTERNS_SHORT_BITS));
}

/* What was found in a text. */
struct patterns_found {
  uint32_t generation; /* of the table */
  uint32_t count;      /* different sets that were found; more than PATTERNS_MOST_FOUND: some are not listed */
  uint32_t set[PATTERNS_MOST_FOUND];
};

PENUMBRA_SHADER void patterns_note(struct patterns_found* found, uint32_t set) {
  const uint32_t listed = found->count < PATTERNS_MOST_FOUND ? found->count : (uint32_t)PATTERNS_MOST_FOUND;
  for (uint32_t i = 0; i < listed; ++i) {
    if (found->set[i] == set) return;
  }
  if (found->count < PATTERNS_MOST_FOUND) found->set[found->count] = set;
  if (found->count <= PATTERNS_MOST_FOUND) ++found->count;
}

/* Reads texts. A text goes on from `before`, and `after` is the state for what follows it: a pattern that begins in one
 * text and ends in the next one of a stream is found. */
PENUMBRA_SHADER void patterns_search(struct patterns_view view, const uint32_t* before, struct penumbra_source source,
                                     uint32_t* after, struct patterns_found* found, uint32_t n) {
  foreach (i, n) {
    const uint8_t* text = source.bytes + source.position[i];
    const uint32_t length = source.length[i];
    uint32_t state = before[i] == PATTERNS_BEGIN ? 0 : before[i] >> 8 & 0x7FFFFF;
    uint32_t last = before[i] & 0xFF;
    uint32_t at = 0;
    found[i].generation = view.generation;
    found[i].count = 0;
    // NOLINTNEXTLINE(modernize-loop-convert): C has no such loop
    for (uint32_t k = 0; k < PATTERNS_MOST_FOUND; ++k) found[i].set[k] = 0;
    if (before[i] == PATTERNS_BEGIN && length > 0) {
      last = text[0];
      at = 1;
    }
    for (; at < length; ++at) {
      const uint32_t byte = text[at];
      const uint32_t index = state + view.byte_class[byte];
      const struct patterns_move* move = &view.move[index];
      g_expensive(move);
      if (move->check == state) {
        state = move->next & ~PATTERNS_MATCH;
        if ((move->next & PATTERNS_MATCH) != 0) patterns_note(&found[i], view.found[index]);
      } else {
        state = view.pair[last | byte << 8];
      }
      last = byte;
    }
    after[i] = before[i] == PATTERNS_BEGIN && length == 0 ? PATTERNS_BEGIN : state << 8 | last;
  }
}

#endif
