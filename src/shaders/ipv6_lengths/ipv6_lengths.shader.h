/* SPDX-License-Identifier: Apache-2.0
 *
 * IPv6 longest-prefix match by binary search on prefix lengths (M. Waldvogel, G. Varghese, J. Turner, B. Plattner:
 * Scalable High Speed IP Routing Lookups, SIGCOMM 1997), as PacketShader (section 6.2.2) has it: one access by the
 * leading IPV6_LENGTHS_BASE_BITS bits, and seven probes of a hash table at the most.
 *
 * The lengths form a fixed tree (ipv6_lengths_middle). A prefix has a slot in the hash table, and on the way to it in
 * the tree a slot, a marker, at each shorter length that the search has to go on from. Each slot holds the answer for
 * what begins like it and meets nothing longer, and the lengths to try next, one after the other until there is a slot:
 * that paper's ropes (section 4.2). Probes that cannot hit are not on them. */
#ifndef PENUMBRA_SHADERS_IPV6_LENGTHS_H
#define PENUMBRA_SHADERS_IPV6_LENGTHS_H

#include "penumbra/ipv6_address.h"
#include "penumbra/shader.h"

enum {
  IPV6_LENGTHS_BASE_BITS = 20,
  IPV6_LENGTHS_GONE = 255, /* in place of the length: the slot belongs to nothing, but the search goes on past it */
};

/* Of the hash. */
#define IPV6_LENGTHS_LOW_FACTOR 0xD6E8FEB86659FD93U
#define IPV6_LENGTHS_FACTOR 0x9E3779B97F4A7C15U

/* `state` has the next hop, inverted, in its lower 16 bits, the length above them (0: the slot was never used), and the
 * owner's remarks above that. */
struct ipv6_lengths_slot {
  uint64_t state;
  uint64_t high; /* the address that all behind it begin with */
  uint64_t low;
  uint64_t rope; /* a byte for each length to try, the first one lowest */
};

struct ipv6_lengths_view {
  const struct ipv6_lengths_slot* base;  /* by the leading bits: without high and low */
  const struct ipv6_lengths_slot* slots; /* the hash table: open addressing, linear probing */
  uint32_t index_bits;                   /* of the hash */
};

/* Where a search in the lengths above `shorter`, up to `longest`, goes first. The deepest way down has seven steps. */
PENUMBRA_SHADER uint32_t ipv6_lengths_middle(uint32_t shorter, uint32_t longest) {
  if (shorter != IPV6_LENGTHS_BASE_BITS || longest < 47) return (shorter + longest + 1) / 2;
  /* 48, 32 and 40 are what the Internet has most of. */
  return longest == 128 ? 65 : longest == 64 ? 48 : 32;
}

PENUMBRA_SHADER uint64_t ipv6_lengths_high(uint64_t high, uint32_t length) {
  return length >= 64 ? high : high & ~(~(uint64_t)0 >> length);
}
PENUMBRA_SHADER uint64_t ipv6_lengths_low(uint64_t low, uint32_t length) {
  return length <= 64 ? 0 : low & ~(uint64_t)0 << (128 - length);
}

/* The place of what begins with these `length` bits, unless others are there already. */
PENUMBRA_SHADER uint64_t ipv6_lengths_place(uint64_t high, uint64_t low, uint32_t length, uint32_t index_bits) {
  uint64_t bits = high + low * IPV6_LENGTHS_LOW_FACTOR + length;
  bits ^= bits >> 32;
  return bits * IPV6_LENGTHS_FACTOR >> (64 - index_bits);
}

/* Writes the next hop of each address, or 0xFFFF. */
PENUMBRA_SHADER void ipv6_lengths_lookup(struct ipv6_lengths_view view, const struct ipv6_address* address,
                                         uint16_t* next_hop, uint32_t n) {
  foreach (i, n) {
    const struct ipv6_lengths_slot* best = &view.base[address[i].high >> (64 - IPV6_LENGTHS_BASE_BITS)];
    g_expensive(best);
    uint64_t rope = penumbra_load(&best->rope);
    while (rope != 0) {
      const uint32_t length = (uint32_t)rope & 0xFF;
      const uint64_t high = ipv6_lengths_high(address[i].high, length);
      const uint64_t low = ipv6_lengths_low(address[i].low, length);
      uint64_t place = ipv6_lengths_place(high, low, length, view.index_bits);
      const struct ipv6_lengths_slot* slot = &view.slots[place];
      g_expensive(slot);
      uint32_t held = (uint32_t)(penumbra_load_first(&slot->state) >> 16) & 0xFF;
      rope >>= 8;
      while (held != 0) {
        if (held == length && penumbra_load(&slot->high) == high && penumbra_load(&slot->low) == low) {
          best = slot;
          rope = penumbra_load(&slot->rope);
          break;
        }
        place = (place + 1) & (((uint64_t)1 << view.index_bits) - 1);
        slot = &view.slots[place];
        held = (uint32_t)(penumbra_load_first(&slot->state) >> 16) & 0xFF;
      }
    }
    /* Read last: it may have changed since the search came by. */
    next_hop[i] = (uint16_t)~penumbra_load(&best->state);
  }
}

#endif
