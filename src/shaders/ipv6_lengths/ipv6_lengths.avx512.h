// SPDX-License-Identifier: Apache-2.0
//
// ipv6_lengths_lookup() for cores with AVX-512: addresses probe together, so that all lines of a step are asked for
// before the first is read, and whether a probe hits is no branch. Keys are made eight at a time; the slots of a line
// are compared at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/avx512.h"
#include "shaders/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra::ipv6_lengths {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 8;

/// Two words as they stand in a slot.
struct alignas(16) Pair {
  std::uint64_t key = 0;
  std::uint64_t state = 0;
};

/// Addresses on their way, in any order: those that have a probe left come first.
struct Group {
  alignas(64) std::uint64_t high[kGroup], low[kGroup];
  alignas(64) std::uint64_t best[kGroup], rope[kGroup], steps[kGroup];  ///< as in the shader
  std::uint32_t number[kGroup];                                         ///< in the batch
  alignas(64) std::uint64_t place[kGroup], length[kGroup];              ///< of the probe at hand
  alignas(64) Pair sought[kGroup], compared[kGroup];                    ///< likewise
};

[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i all_lanes(std::uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}

/// Stores two words of each lane side by side.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void store_pairs(Pair* pairs, __m512i keys,
                                                                              __m512i states) {
  const __m512i first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
  const __m512i second = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
  _mm512_store_si512(pairs, _mm512_permutex2var_epi64(keys, first, states));
  _mm512_store_si512(pairs + kLanes / 2, _mm512_permutex2var_epi64(keys, second, states));
}

/// A pair in place of each slot of a line.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i all_slots(const Pair& pair) {
  return _mm512_broadcast_i64x2(_mm_load_si128(reinterpret_cast<const __m128i*>(&pair)));
}

/// The keys of the next probes of kLanes addresses and their places, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_places(const ipv6_lengths_view& view,
                                                                              std::uint32_t at, Group& group) {
  const __m512i rope = _mm512_load_si512(group.rope + at);
  const __m512i lowest = _mm512_andnot_si512(_mm512_sub_epi64(rope, all_lanes(1)), rope);
  const __m512i shift = _mm512_slli_epi64(_mm512_sub_epi64(all_lanes(63), _mm512_lzcnt_epi64(lowest)), 3);
  const __m512i length =
      _mm512_and_si512(_mm512_srlv_epi64(_mm512_load_si512(group.steps + at), shift), all_lanes(0xFF));
  const __m512i low = _mm512_load_si512(group.low + at);
  const __mmask8 in_low = _mm512_cmpgt_epu64_mask(length, all_lanes(IPV6_LENGTHS_SPLIT));
  const __mmask8 is_split = _mm512_cmpeq_epi64_mask(length, all_lanes(IPV6_LENGTHS_SPLIT));
  // A shift by 64 and more gives 0, also one by less than 0: of all 65 bits the mask is none then.
  const __m512i bits = _mm512_mask_sub_epi64(length, in_low, length, all_lanes(64));
  const __m512i half = _mm512_mask_mov_epi64(_mm512_load_si512(group.high + at), in_low, low);
  const __m512i key = _mm512_andnot_si512(_mm512_srlv_epi64(all_lanes(~std::uint64_t{0}), bits), half);
  const __mmask8 split_one = is_split & _mm512_movepi64_mask(low);
  const __m512i code = _mm512_mask_mov_epi64(length, split_one, all_lanes(IPV6_LENGTHS_SPLIT_ONE));
  const __m512i number_bits = all_lanes(IPV6_LENGTHS_NUMBER), code_bits = all_lanes(IPV6_LENGTHS_CODE);
  const __m512i number = _mm512_and_si512(_mm512_load_si512(group.best + at), number_bits);
  // ipv6_lengths_place()
  __m512i hash = _mm512_add_epi64(key, code);
  if (in_low != 0) {  // elsewhere it is 0
    hash = _mm512_add_epi64(hash, _mm512_mullo_epi64(number, all_lanes(IPV6_LENGTHS_NUMBER_FACTOR)));
  }
  hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32));
  hash = _mm512_mullo_epi64(hash, all_lanes(IPV6_LENGTHS_FACTOR));
  _mm512_store_si512(group.place + at, _mm512_srlv_epi64(hash, all_lanes(64 - view.index_bits)));
  _mm512_store_si512(group.length + at, length);
  store_pairs(group.sought + at, key, _mm512_or_si512(_mm512_slli_epi64(code, IPV6_LENGTHS_CODE_SHIFT), number));
  store_pairs(group.compared + at, all_lanes(~std::uint64_t{0}),
              _mm512_mask_mov_epi64(_mm512_or_si512(code_bits, number_bits), is_split, code_bits));
  _mm512_store_si512(group.rope + at, _mm512_and_si512(rope, _mm512_sub_epi64(rope, all_lanes(1))));
  for (std::uint32_t i = at; i < at + kLanes; ++i) __builtin_prefetch(&view.slots[group.place[i]], 0, 2);
}

/// Without a branch, which would be guessed wrong often.
[[gnu::always_inline]] inline std::uint64_t choose(bool first, std::uint64_t a, std::uint64_t b) {
  return b ^ ((a ^ b) & -std::uint64_t{first});
}

/// The state of the slot that has what is sought, in the lines behind the first; 0 if there is none.
[[gnu::noinline]] inline std::uint64_t search_on(const ipv6_lengths_view& view, std::uint64_t first, Pair sought,
                                                 Pair compared) {
  for (std::uint64_t tries = IPV6_LENGTHS_LINE;; ++tries) {
    const ipv6_lengths_slot* const slot = &view.slots[ipv6_lengths_next(first, tries, view.index_bits)];
    const std::uint64_t state = penumbra_load_first(&slot->state);
    if ((state & IPV6_LENGTHS_CODE) == 0) return 0;
    if (((state ^ sought.state) & compared.state) == 0 && penumbra_load(&slot->key) == sought.key) return state;
  }
}

/// Probes for the first `count` of the group; how many have a probe left, which come first then. Writes the answers of
/// all: of one that goes on it is written anew.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t probe(const ipv6_lengths_view& view,
                                                                                 std::uint32_t count, Group& group,
                                                                                 std::uint16_t* next_hop) {
  constexpr unsigned kKeys = 0x55, kStates = 0xAA, kLastKey = 0x40;
  const __m512i code_bits = all_lanes(IPV6_LENGTHS_CODE);
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const ipv6_lengths_slot* const line = &view.slots[group.place[i] & ~std::uint64_t{IPV6_LENGTHS_LINE - 1}];
    // What is being written meanwhile is found or not.
    const __m512i slots = _mm512_load_si512(line);
    const __m512i other =
        _mm512_and_si512(_mm512_xor_si512(slots, all_slots(group.sought[i])), all_slots(group.compared[i]));
    const unsigned same = _mm512_testn_epi64_mask(other, other);
    const unsigned here = same & same >> 1 & kKeys;
    const unsigned empty = _mm512_mask_testn_epi64_mask(kStates, slots, code_bits);
    std::uint64_t state = penumbra_load(&line[static_cast<unsigned>(std::countr_zero(here | kLastKey)) / 2].state);
    bool found = here != 0;
    if ((here | empty) == 0) [[unlikely]] {
      state = search_on(view, group.place[i], group.sought[i], group.compared[i]);
      found = state != 0;
    }
    const std::uint64_t best = choose(found, state, group.best[i]);
    const std::uint64_t rope = choose(found, state >> IPV6_LENGTHS_ROPE_SHIFT & 0xFF, group.rope[i]);
    const std::uint64_t steps = choose(found, penumbra_load(&view.steps[group.length[i]]), group.steps[i]);
    next_hop[group.number[i]] = static_cast<std::uint16_t>(~best);
    group.high[left] = group.high[i];
    group.low[left] = group.low[i];
    group.best[left] = best;
    group.rope[left] = rope;
    group.steps[left] = steps;
    group.number[left] = group.number[i];
    left += rope != 0 ? 1 : 0;
  }
  return left;
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_lengths_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  const std::uint64_t first_steps = view.steps[IPV6_LENGTHS_BASE_BITS];
  while (n > 0) {
    const std::uint32_t count = std::min(n, kGroup);
    Group group;
    std::uint32_t left = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t base = penumbra_load(&view.base[address[i].high >> (64 - IPV6_LENGTHS_BASE_BITS)]);
      next_hop[i] = static_cast<std::uint16_t>(~base);
      group.high[left] = address[i].high;
      group.low[left] = address[i].low;
      group.best[left] = base;
      group.rope[left] = base >> IPV6_LENGTHS_ROPE_SHIFT & 0xFF;
      group.steps[left] = first_steps;
      group.number[left] = i;
      left += group.rope[left] != 0 ? 1 : 0;
    }
    while (left > 0) {
      for (std::uint32_t at = 0; at < left; at += kLanes) find_places(view, at, group);
      left = probe(view, left, group, next_hop);
    }
    address += count;
    next_hop += count;
    n -= count;
  }
}

}  // namespace penumbra::ipv6_lengths
