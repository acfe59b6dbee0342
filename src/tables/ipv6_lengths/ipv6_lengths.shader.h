/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match by binary search on prefix lengths, as in PacketShader (section 6.2.2). The paper is M.
 * Waldvogel, G. Varghese, J. Turner, B. Plattner: Scalable High Speed IP Routing Lookups, SIGCOMM 1997. A lookup makes
 * one access by the leading IPV6_LENGTHS_BASE_BITS bits and at most seven probes of a hash table.
 *
 * The lengths form a fixed tree (ipv6_lengths_middle). A prefix has a slot in the hash table. A prefix also has a
 * marker, which is a slot at each shorter length in the tree from which the search must continue. Each slot holds the
 * answer for addresses that begin with its bits and match no longer slot. Each slot also holds its probe sequence: the
 * lengths to try next until a slot is found (section 4.2 of the paper). Probes that cannot hit are left out. The
 * lengths that a search tries from a given length are the same everywhere (view.steps), so a probe sequence needs one
 * bit for each step.
 *
 * A slot has 16 bytes. One word is compared with half of the address. Slots of up to 65 bits use the upper half, and
 * the code of the length holds the 65th bit. Longer slots use the lower half. The leading 65 bits of a longer slot have
 * their own slot, and the longer slot refers to them by number. */
#ifndef PENUMBRA_SHADERS_IPV6_LENGTHS_H
#define PENUMBRA_SHADERS_IPV6_LENGTHS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_LENGTHS_BASE_BITS = 20,
  IPV6_LENGTHS_LINE = 4,   /* slots of a cache line */
  IPV6_LENGTHS_SPLIT = 65, /* the first length that needs more than the upper half of an address */
  /* Positions of the fields of a state. */
  IPV6_LENGTHS_CODE_SHIFT = 16,   /* 8 bits */
  IPV6_LENGTHS_PROBES_SHIFT = 32, /* 8 bits */
  IPV6_LENGTHS_NUMBER_SHIFT = 40,
  IPV6_LENGTHS_SPLIT_ONE = 129, /* code of 65 bits that end with 1; the code of all other slots is the length */
  IPV6_LENGTHS_GONE = 255       /* replaces the code: the slot is unused, but a search continues past it */
};

#define IPV6_LENGTHS_CODE ((uint64_t)0xFF << IPV6_LENGTHS_CODE_SHIFT)
#define IPV6_LENGTHS_NUMBER (~(uint64_t)0 << IPV6_LENGTHS_NUMBER_SHIFT)

/* Factors of the hash. */
#define IPV6_LENGTHS_NUMBER_FACTOR 0xD6E8FEB86659FD93U
#define IPV6_LENGTHS_FACTOR 0x9E3779B97F4A7C15U

struct ipv6_lengths_slot {
  uint64_t key; /* leading bits of half of an address */
  /* From the lowest bits: inverted next hop (16), code of the length (8), owner's field (8), probe sequence (8), number
   * (24). A code of 0 means that the slot was never used. The lowest bit of the probe sequence is the first step to
   * try. In slots of 65 bits and more, the number stands for the leading 65 bits. */
  uint64_t state;
} __attribute__((aligned(16)));

struct ipv6_lengths_view {
  const uint64_t* base;                  /* states, by the leading bits */
  const struct ipv6_lengths_slot* slots; /* the hash table, with open addressing (ipv6_lengths_next) */
  /* By length: the lengths that a search from this length tries, one per byte; the first is the lowest byte. */
  const uint64_t* steps;
  uint32_t index_bits; /* bits of the hash */
};

/* Returns the first length that a search tries among the lengths above `shorter`, up to `longest`. The deepest path has
 * seven steps. */
PENUMBRA_SHADER uint32_t ipv6_lengths_middle(uint32_t shorter, uint32_t longest) {
  if (shorter != IPV6_LENGTHS_BASE_BITS || longest < 47) return (shorter + longest + 1) / 2;
  /* Most Internet prefixes have 48, 32 or 40 bits. */
  return longest == 128 ? IPV6_LENGTHS_SPLIT : longest == 64 ? 48 : 32;
}

/* Returns the key of the slot of this address's leading `length` bits. */
PENUMBRA_SHADER uint64_t ipv6_lengths_key(uint64_t high, uint64_t low, uint32_t length) {
  const uint64_t half = length > IPV6_LENGTHS_SPLIT ? low : high;
  const uint32_t bits = length > IPV6_LENGTHS_SPLIT ? length - 64 : length;
  return bits >= 64 ? half : half & ~(~(uint64_t)0 >> bits);
}

/* Returns the code of that slot. */
PENUMBRA_SHADER uint64_t ipv6_lengths_code(uint64_t low, uint32_t length) {
  return length == IPV6_LENGTHS_SPLIT && low >> 63 != 0 ? (uint64_t)IPV6_LENGTHS_SPLIT_ONE : length;
}

/* Returns the first place to probe for a key and code. `number` is the number field of a state beyond 65 bits,
 * otherwise 0. */
PENUMBRA_SHADER uint64_t ipv6_lengths_place(uint64_t key, uint64_t code, uint64_t number, uint32_t index_bits) {
  uint64_t bits = key + number * IPV6_LENGTHS_NUMBER_FACTOR + code;
  bits ^= bits >> 32;
  return bits * IPV6_LENGTHS_FACTOR >> (64 - index_bits);
}

/* Returns the place to probe after `tries` places had foreign slots: first the rest of the same line, then the
 * following lines. */
PENUMBRA_SHADER uint64_t ipv6_lengths_next(uint64_t first, uint64_t tries, uint32_t index_bits) {
  const uint64_t in_line = IPV6_LENGTHS_LINE - 1;
  const uint64_t line = (first & ~in_line) + (tries & ~in_line);
  return (line & (((uint64_t)1 << index_bits) - 1)) | ((first + tries) & in_line);
}

/* Writes the next hop of each address, or 0xFFFF. A state that leads to more than 65 bits holds the number of the
 * leading 65; no other state needs a number. */
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
