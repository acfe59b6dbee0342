// SPDX-License-Identifier: Apache-2.0
//
// ipv6_lengths_lookup() for cores with AVX-512: addresses probe together, so that all lines of a step are asked for
// before the first is read, and whether a probe hits is no branch. Eight at a time have their next keys made and take
// the answers, and those that are done leave; the slots of a line are compared at once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/avx512.h"
#include "shaders/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra::ipv6_lengths {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::size_t kGroup = 64, kLanes = 8;

/// Two words as they stand in a slot.
struct alignas(16) Pair {
  std::uint64_t key = 0;
  std::uint64_t state = 0;
};

/// Words of each address, and room behind them for a store of kLanes.
using Words = std::uint64_t[kGroup + kLanes];

/// Addresses on their way, in any order: those that have a probe left.
struct Group {
  alignas(64) Words high, low;
  /// The best state so far, whose rope has only what is still to be tried, and which has in place of its code the
  /// address' number in the group.
  alignas(64) Words best;
  alignas(64) Words steps;                            ///< as in the shader
  alignas(64) Words place, length;                    ///< of the probe at hand
  alignas(64) Pair sought[kGroup], compared[kGroup];  ///< likewise
  alignas(64) Words state;                            ///< what it found; 0: nothing
  alignas(64) Words answer;                           ///< as `best`, of those that are done
  std::size_t answers = 0;
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

/// Lanes one behind the other from `to` on; what stands behind them is overwritten.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void append(std::uint64_t* to, __mmask8 lanes,
                                                                         __m512i words) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(lanes, words));
}

/// Puts kLanes addresses with their best states where they belong: those whose rope has something left behind the
/// first `left`, the others among the answers. Returns how many are left then.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t divide(Group& group, std::size_t left,
                                                                                __mmask8 lanes, __m512i high,
                                                                                __m512i low, __m512i best,
                                                                                __m512i steps) {
  const __mmask8 go_on =
      _mm512_mask_test_epi64_mask(lanes, best, all_lanes(std::uint64_t{0xFF} << IPV6_LENGTHS_ROPE_SHIFT));
  const auto done = static_cast<__mmask8>(lanes & ~go_on);
  append(group.high + left, go_on, high);
  append(group.low + left, go_on, low);
  append(group.best + left, go_on, best);
  append(group.steps + left, go_on, steps);
  append(group.answer + group.answers, done, best);
  group.answers += static_cast<std::size_t>(std::popcount(done));
  return left + static_cast<std::size_t>(std::popcount(go_on));
}

/// A state with an address' number in place of its code.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i with_number(__m512i state, __m512i number) {
  constexpr int kOneOrOther = 0xE4;  // the first where the third has a bit, otherwise the second
  return _mm512_ternarylogic_epi64(number, state, all_lanes(IPV6_LENGTHS_CODE), kOneOrOther);
}

/// Begins with the addresses from `first` on in the group, kLanes or as many as there are; returns how many have a
/// probe left, with the `left` before.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t begin(const ipv6_lengths_view& view,
                                                                               const ipv6_address* address,
                                                                               std::size_t first, std::size_t count,
                                                                               Group& group, std::size_t left) {
  static_assert(sizeof(ipv6_address) == 16);
  const auto here = std::min(count - first, kLanes);
  const auto lanes = static_cast<__mmask8>((1U << here) - 1);
  const unsigned words = (1U << 2 * here) - 1;
  const __m512i one = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(words), address + first);
  const __m512i other = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(words >> kLanes), address + first + kLanes / 2);
  const __m512i high = _mm512_permutex2var_epi64(one, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), other);
  const __m512i low = _mm512_permutex2var_epi64(one, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), other);
  const __m512i base = gather(view.base, _mm512_srli_epi64(high, 64 - IPV6_LENGTHS_BASE_BITS), lanes);
  const __m512i number = _mm512_add_epi64(all_lanes(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  return divide(group, left, lanes, high, low, with_number(base, _mm512_slli_epi64(number, IPV6_LENGTHS_CODE_SHIFT)),
                all_lanes(view.steps[IPV6_LENGTHS_BASE_BITS]));
}

/// The keys of the next probes of kLanes addresses and their places, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_places(const ipv6_lengths_view& view,
                                                                              std::size_t at, Group& group) {
  const __m512i best = _mm512_load_si512(group.best + at);
  const __m512i rope = _mm512_and_si512(_mm512_srli_epi64(best, IPV6_LENGTHS_ROPE_SHIFT), all_lanes(0xFF));
  const __m512i rest = _mm512_and_si512(rope, _mm512_sub_epi64(rope, all_lanes(1)));
  const __m512i lowest = _mm512_xor_si512(rope, rest);
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
  const __m512i number = _mm512_and_si512(best, number_bits);
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
  _mm512_store_si512(group.best + at, _mm512_xor_si512(best, _mm512_slli_epi64(lowest, IPV6_LENGTHS_ROPE_SHIFT)));
  const std::uint64_t* const place = group.place + at;
  for (std::size_t i = 0; i < kLanes; ++i) __builtin_prefetch(&view.slots[place[i]], 0, 2);
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

/// Probes for an address: the state of the slot that has what is sought; 0 if there is none.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint64_t probe(const ipv6_lengths_view& view,
                                                                                 const Group& group, std::size_t i) {
  constexpr unsigned kKeys = 0x55, kStates = 0xAA, kLastKey = 0x40;
  const ipv6_lengths_slot* const line = &view.slots[group.place[i] & ~std::uint64_t{IPV6_LENGTHS_LINE - 1}];
  // What is being written meanwhile is found or not.
  const __m512i slots = _mm512_load_si512(line);
  const __m512i other =
      _mm512_and_si512(_mm512_xor_si512(slots, all_slots(group.sought[i])), all_slots(group.compared[i]));
  const unsigned same = _mm512_testn_epi64_mask(other, other);
  const unsigned here = same & same >> 1 & kKeys;
  const unsigned empty = _mm512_mask_testn_epi64_mask(kStates, slots, all_lanes(IPV6_LENGTHS_CODE));
  if ((here | empty) == 0) [[unlikely]] {
    return search_on(view, group.place[i], group.sought[i], group.compared[i]);
  }
  // Whether one is here is no branch, which would be guessed wrong often.
  const std::uint64_t state = penumbra_load(&line[static_cast<unsigned>(std::countr_zero(here | kLastKey)) / 2].state);
  return state & -std::uint64_t{here != 0};
}

/// Takes what kLanes addresses, or as many as there are, have found; returns how many have a probe left, with the
/// `left` before.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t take(const ipv6_lengths_view& view,
                                                                              std::size_t at, std::size_t count,
                                                                              Group& group, std::size_t left) {
  const auto lanes = static_cast<__mmask8>((1U << std::min(count - at, kLanes)) - 1);
  const __m512i state = _mm512_load_si512(group.state + at);
  const __m512i best = _mm512_load_si512(group.best + at);
  const __mmask8 found = _mm512_mask_test_epi64_mask(lanes, state, state);
  const __m512i steps = _mm512_mask_i64gather_epi64(_mm512_load_si512(group.steps + at), found,
                                                    _mm512_load_si512(group.length + at), view.steps, 8);
  return divide(group, left, lanes, _mm512_load_si512(group.high + at), _mm512_load_si512(group.low + at),
                _mm512_mask_mov_epi64(best, found, with_number(state, best)), steps);
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_lengths_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  Group group;
  while (n > 0) {
    const std::size_t count = std::min<std::size_t>(n, kGroup);
    std::size_t left = 0;
    group.answers = 0;
    for (std::size_t first = 0; first < count; first += kLanes) left = begin(view, address, first, count, group, left);
    while (left > 0) {
      for (std::size_t at = 0; at < left; at += kLanes) find_places(view, at, group);
      for (std::size_t i = 0; i < left; ++i) group.state[i] = probe(view, group, i);
      const std::size_t probed = std::exchange(left, 0);
      for (std::size_t at = 0; at < probed; at += kLanes) left = take(view, at, probed, group, left);
    }
    for (std::size_t i = 0; i < count; ++i) {
      next_hop[group.answer[i] >> IPV6_LENGTHS_CODE_SHIFT & 0xFF] = static_cast<std::uint16_t>(~group.answer[i]);
    }
    address += count;
    next_hop += count;
    n -= static_cast<std::uint32_t>(count);
  }
}

}  // namespace penumbra::ipv6_lengths
