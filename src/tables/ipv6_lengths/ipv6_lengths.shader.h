/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match by binary search on prefix lengths (M. Waldvogel, G. Varghese, J. Turner, B. Plattner:
 * Scalable High Speed IP Routing Lookups, SIGCOMM 1997), as PacketShader (section 6.2.2) has it: one access by the
 * leading IPV6_LENGTHS_BASE_BITS bits, and seven probes of a hash table at the most.
 *
 * The lengths form a fixed tree (ipv6_lengths_middle). A prefix has a slot in the hash table, and on the way to it in
 * the tree a slot, a marker, at each shorter length that the search has to go on from. Each slot holds the answer for
 * what begins like it and meets nothing longer, and which lengths to try next, one after the other until there is a
 * slot: that paper's probess (section 4.2). Probes that cannot hit are not on them. Where a search goes on from one
 * length as long as it finds nothing is the same everywhere (view.steps); so a probes is a bit for each of these steps.
 *
 * A slot is 16 bytes, of which one word is compared with an address' half: with the upper one up to 65 bits, whose
 * last is in the code of the length, and with the lower one beyond. What a slot beyond 65 bits begins with stands in a
 * slot of 65 then, by whose number it is known. */
#ifndef PENUMBRA_SHADERS_IPV6_LENGTHS_H
#define PENUMBRA_SHADERS_IPV6_LENGTHS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_LENGTHS_BASE_BITS = 20,
  IPV6_LENGTHS_LINE = 4,   /* slots of a cache line */
  IPV6_LENGTHS_SPLIT = 65, /* the first length that needs more than the upper half of an address */
  /* Where in a state what begins. */
  IPV6_LENGTHS_CODE_SHIFT = 16,   /* 8 bits */
  IPV6_LENGTHS_PROBES_SHIFT = 32, /* 8 bits */
  IPV6_LENGTHS_NUMBER_SHIFT = 40,
  IPV6_LENGTHS_SPLIT_ONE = 129, /* the code of 65 bits of which the last is 1; of all others it is the length */
  IPV6_LENGTHS_GONE = 255       /* in place of the code: the slot belongs to nothing, but the search goes on past it */
};

#define IPV6_LENGTHS_CODE ((uint64_t)0xFF << IPV6_LENGTHS_CODE_SHIFT)
#define IPV6_LENGTHS_NUMBER (~(uint64_t)0 << IPV6_LENGTHS_NUMBER_SHIFT)

/* Of the hash. */
#define IPV6_LENGTHS_NUMBER_FACTOR 0xD6E8FEB86659FD93U
#define IPV6_LENGTHS_FACTOR 0x9E3779B97F4A7C15U

struct ipv6_lengths_slot {
  uint64_t key; /* what all behind it begin with: of one half of their addresses */
  /* From the lowest bits: the next hop, inverted (16), the code of the length (8; 0: the slot was never used), the
   * owner's remark (8), the probes (8: the step to try first has the lowest bit), and in slots of 65 bits and more the
   * number of the 65 bits that it begins with (24). */
  uint64_t state;
} __attribute__((aligned(16)));

struct ipv6_lengths_view {
  const uint64_t* base;                  /* states, by the leading bits */
  const struct ipv6_lengths_slot* slots; /* the hash table: open addressing (ipv6_lengths_next) */
  /* For each length, where a search that has come so far goes: a length in each byte, the first step's lowest. */
  const uint64_t* steps;
  uint32_t index_bits; /* of the hash */
};

/* Where a search in the lengths above `shorter`, up to `longest`, goes first. The deepest way down has seven steps. */
PENUMBRA_SHADER uint32_t ipv6_lengths_middle(uint32_t shorter, uint32_t longest) {
  if (shorter != IPV6_LENGTHS_BASE_BITS || longest < 47) return (shorter + longest + 1) / 2;
  /* 48, 32 and 40 are what the Internet has most of. */
  return longest == 128 ? IPV6_LENGTHS_SPLIT : longest == 64 ? 48 : 32;
}

/* What a slot of `length` bits that this address begins with has as its key. */
PENUMBRA_SHADER uint64_t ipv6_lengths_key(uint64_t high, uint64_t low, uint32_t length) {
  const uint64_t half = length > IPV6_LENGTHS_SPLIT ? low : high;
  const uint32_t bits = length > IPV6_LENGTHS_SPLIT ? length - 64 : length;
  return bits >= 64 ? half : half & ~(~(uint64_t)0 >> bits);
}

/* What it has as its code. */
PENUMBRA_SHADER uint64_t ipv6_lengths_code(uint64_t low, uint32_t length) {
  return length == IPV6_LENGTHS_SPLIT && low >> 63 != 0 ? (uint64_t)IPV6_LENGTHS_SPLIT_ONE : length;
}

/* The place of the slot with this key and code, and beyond 65 bits with this number, as it stands in a state, otherwise
 * 0; unless others are there already. */
PENUMBRA_SHADER uint64_t ipv6_lengths_place(uint64_t key, uint64_t code, uint64_t number, uint32_t index_bits) {
  uint64_t bits = key + number * IPV6_LENGTHS_NUMBER_FACTOR + code;
  bits ^= bits >> 32;
  return bits * IPV6_LENGTHS_FACTOR >> (64 - index_bits);
}

/* Where what found others at the first place may be after `tries` of them: first in all of the same line, then in the
 * lines behind it. */
PENUMBRA_SHADER uint64_t ipv6_lengths_next(uint64_t first, uint64_t tries, uint32_t index_bits) {
  const uint64_t in_line = IPV6_LENGTHS_LINE - 1;
  const uint64_t line = (first & ~in_line) + (tries & ~in_line);
  return (line & (((uint64_t)1 << index_bits) - 1)) | ((first + tries) & in_line);
}

/* Writes the next hop of each address, or 0xFFFF. A state that leads on to more than 65 bits has the number of these
 * 65; others have none. */
PENUMBRA_SHADER void ipv6_lengths_lookup(struct ipv6_lengths_view view, const struct ipv6_address* address,
                                         uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    const uint64_t* base = &view.base[address[i].high >> (64 - IPV6_LENGTHS_BASE_BITS)];
    g_expensive(base);
    uint64_t best = penumbra_load(base);
    uint64_t steps = view.steps[IPV6_LENGTHS_BASE_BITS];
    uint64_t probes = best >> IPV6_LENGTHS_PROBES_SHIFT & 0xFF;
    while (probes != 0) {
      const uint32_t length = (uint32_t)(steps >> 8 * penumbra_trailing_zeros(probes)) & 0xFF;
      const uint64_t key = ipv6_lengths_key(address[i].high, address[i].low, length);
      const uint64_t code = ipv6_lengths_code(address[i].low, length);
      const uint64_t number = best & IPV6_LENGTHS_NUMBER;
      const uint64_t first = ipv6_lengths_place(key, code, number, view.index_bits);
      uint64_t place = first;
      uint64_t tries = 0;
      g_expensive(&view.slots[place]);
      const uint64_t sought = code << IPV6_LENGTHS_CODE_SHIFT | number;
      const uint64_t compared =
          length == IPV6_LENGTHS_SPLIT ? IPV6_LENGTHS_CODE : IPV6_LENGTHS_CODE | IPV6_LENGTHS_NUMBER;
      uint64_t state = penumbra_load_first(&view.slots[place].state);
      uint64_t its_key = penumbra_load(&view.slots[place].key);
      probes &= probes - 1;
      while ((state & IPV6_LENGTHS_CODE) != 0) {
        if ((((state ^ sought) & compared) | (its_key ^ key)) == 0) {
          best = state;
          steps = view.steps[length];
          probes = best >> IPV6_LENGTHS_PROBES_SHIFT & 0xFF;
          break;
        }
        tries += 1;
        place = ipv6_lengths_next(first, tries, view.index_bits);
        state = penumbra_load_first(&view.slots[place].state);
        its_key = penumbra_load(&view.slots[place].key);
      }
    }
    next_hop[i] = (uint16_t)~best;
  }
}

#endif
