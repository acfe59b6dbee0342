// SPDX-License-Identifier: Apache-2.0
//
// ipv6_lengths_lookup() for cores with AVX-512. Addresses probe together: all slots of a step are prefetched before the
// first is read. The result of a probe causes no branch, except if the number of foreign slots overflows its counter.
// Eight addresses at a time compute their next places and gather their slots. Finished addresses leave, and addresses
// that met a foreign slot try the next slot in the next step.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/avx512.h"
#include "penumbra/prefetch.h"
#include "tables/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra::ipv6_lengths {

/// Number of addresses that pass the steps together; a multiple of kLanes. With a longer group, fewer steps have few
/// addresses.
constexpr std::size_t kGroup = 256, kLanes = 8;

/// One word per address, with space at the end for a store of kLanes.
using Words = std::uint64_t[kGroup + kLanes];

/// The unfinished addresses, in any order: those with at least one probe left.
struct Group {
  alignas(64) Words high;
  /// ^The best state so far. The probe sequence has only the untried probes. The code field holds the address' index in
  /// the group, and the owner's field counts the foreign slots that the current probe has met.
  alignas(64) Words best;
  alignas(64) Words steps;  ///< as in the shader
  /// The current probe: `place` is in words, and `sought` has the form of a state.
  alignas(64) Words place, length, key, sought;
  alignas(64) Words answer;  ///< like `best`, of finished addresses
  std::size_t answers = 0;
};
static_assert(kGroup - 1 <= IPV6_LENGTHS_CODE >> IPV6_LENGTHS_CODE_SHIFT);

constexpr std::uint64_t kProbes = std::uint64_t{0xFF} << IPV6_LENGTHS_PROBES_SHIFT;
constexpr std::uint64_t kFirstStep = std::uint64_t{1} << IPV6_LENGTHS_PROBES_SHIFT;
constexpr unsigned kMetShift = 24;
constexpr std::uint64_t kMet = std::uint64_t{0xFF} << kMetShift;

/// Returns the mask of the remaining lanes from `at` on.
[[gnu::always_inline]] inline __mmask8 lanes_of(std::size_t at, std::size_t count) {
  return static_cast<__mmask8>((1U << std::min(count - at, kLanes)) - 1);
}

/// Stores the selected lanes contiguously at `to`. Overwrites the rest of kLanes words.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void append(std::uint64_t* to, __mmask8 lanes,
                                                                         __m512i words) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(lanes, words));
}

/// Sorts kLanes addresses by their best states. Addresses with an untried probe are stored after the first `left`, and
/// the others are stored as answers. Returns the new number of unfinished addresses.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t divide(Group& group, std::size_t left,
                                                                                __mmask8 lanes, __m512i high,
                                                                                __m512i best, __m512i steps) {
  const __mmask8 go_on = _mm512_mask_test_epi64_mask(lanes, best, all_lanes(kProbes));
  const auto done = static_cast<__mmask8>(lanes & ~go_on);
  append(group.high + left, go_on, high);
  append(group.best + left, go_on, best);
  append(group.steps + left, go_on, steps);
  append(group.answer + group.answers, done, best);
  group.answers += static_cast<std::size_t>(std::popcount(done));
  return left + static_cast<std::size_t>(std::popcount(go_on));
}

/// Returns a state with the code field of `number` and a count of 0 foreign slots.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i with_number(__m512i state, __m512i number) {
  constexpr int kOneOrOther = 0xE4;  // selects the first operand where the third has a set bit, otherwise the second
  return _mm512_ternarylogic_epi64(_mm512_and_si512(number, all_lanes(IPV6_LENGTHS_CODE)), state,
                                   all_lanes(IPV6_LENGTHS_CODE | kMet), kOneOrOther);
}

/// Starts the lookups of up to kLanes addresses from index `first` on. Returns the number of unfinished addresses,
/// including the `left` before.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t begin(const ipv6_lengths_view& view,
                                                                               const ipv6_address* address,
                                                                               std::size_t first, std::size_t count,
                                                                               Group& group, std::size_t left) {
  static_assert(sizeof(ipv6_address) == 16);
  const __mmask8 lanes = lanes_of(first, count);
  const unsigned words = (1U << 2 * std::popcount(lanes)) - 1;
  const __m512i one = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(words), address + first);
  const __m512i other = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(words >> kLanes), address + first + kLanes / 2);
  const __m512i high = _mm512_permutex2var_epi64(one, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), other);
  const __m512i base = gather(view.base, _mm512_srli_epi64(high, 64 - IPV6_LENGTHS_BASE_BITS), lanes);
  const __m512i number = _mm512_add_epi64(all_lanes(first), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  return divide(group, left, lanes, high, with_number(base, _mm512_slli_epi64(number, IPV6_LENGTHS_CODE_SHIFT)),
                all_lanes(view.steps[IPV6_LENGTHS_BASE_BITS]));
}

/// Computes the keys and places of the next probes of kLanes addresses, and prefetches the places.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_places(const ipv6_lengths_view& view,
                                                                              const ipv6_address* address,
                                                                              std::size_t at, std::size_t count,
                                                                              Group& group) {
  const __m512i ones = all_lanes(~std::uint64_t{0});
  const __m512i best = _mm512_load_si512(group.best + at);
  const __m512i probes = _mm512_and_si512(best, all_lanes(kProbes));
  const __m512i lowest = _mm512_and_si512(probes, _mm512_sub_epi64(_mm512_setzero_si512(), probes));
  // The first bit of a probe sequence has 31 leading zeros, and the last has 24. A rotation by as many bytes moves the
  // length to the uppermost byte.
  static_assert(IPV6_LENGTHS_PROBES_SHIFT == 32);
  const __m512i turn = _mm512_slli_epi64(_mm512_lzcnt_epi64(lowest), 3);
  const __m512i length = _mm512_srli_epi64(_mm512_rolv_epi64(_mm512_load_si512(group.steps + at), turn), 56);
  // A shift by 64 or more bits gives 0.
  __m512i key = _mm512_andnot_si512(_mm512_srlv_epi64(ones, length), _mm512_load_si512(group.high + at));
  __m512i code = length;
  __m512i number = _mm512_setzero_si512();
  __m512i hash = _mm512_add_epi64(key, code);  // ipv6_lengths_place()
  const __mmask8 long_ones = _mm512_mask_cmpge_epu64_mask(lanes_of(at, count), length, all_lanes(IPV6_LENGTHS_SPLIT));
  if (long_ones != 0) [[unlikely]] {
    const __m512i which = _mm512_and_si512(_mm512_srli_epi64(best, IPV6_LENGTHS_CODE_SHIFT), all_lanes(0xFF));
    const __m512i low = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), long_ones, _mm512_slli_epi64(which, 1),
                                                    &address->low, sizeof address->low);
    const __mmask8 is_split = _mm512_mask_cmpeq_epi64_mask(long_ones, length, all_lanes(IPV6_LENGTHS_SPLIT));
    const __mmask8 in_low = long_ones & static_cast<__mmask8>(~is_split);
    const __m512i mask = _mm512_srlv_epi64(ones, _mm512_sub_epi64(length, all_lanes(64)));
    key = _mm512_mask_andnot_epi64(key, in_low, mask, low);
    code = _mm512_mask_mov_epi64(code, is_split & _mm512_movepi64_mask(low), all_lanes(IPV6_LENGTHS_SPLIT_ONE));
    number = _mm512_maskz_and_epi64(in_low, best, all_lanes(IPV6_LENGTHS_NUMBER));
    hash = _mm512_add_epi64(_mm512_add_epi64(key, code),
                            _mm512_mullo_epi64(number, all_lanes(IPV6_LENGTHS_NUMBER_FACTOR)));
  }
  hash = _mm512_xor_si512(hash, _mm512_srli_epi64(hash, 32));
  hash = _mm512_mullo_epi64(hash, all_lanes(IPV6_LENGTHS_FACTOR));
  const __m512i first = _mm512_srlv_epi64(hash, all_lanes(64 - view.index_bits));
  // ipv6_lengths_next()
  const __m512i met = _mm512_and_si512(_mm512_srli_epi64(best, kMetShift), all_lanes(kMet >> kMetShift));
  const __m512i in_line = all_lanes(IPV6_LENGTHS_LINE - 1);
  const __m512i line =
      _mm512_and_si512(_mm512_add_epi64(_mm512_andnot_si512(in_line, first), _mm512_andnot_si512(in_line, met)),
                       all_lanes((std::uint64_t{1} << view.index_bits) - 1));
  const __m512i place = _mm512_or_si512(line, _mm512_and_si512(_mm512_add_epi64(first, met), in_line));
  _mm512_store_si512(group.place + at, _mm512_slli_epi64(place, 1));
  _mm512_store_si512(group.length + at, length);
  _mm512_store_si512(group.key + at, key);
  _mm512_store_si512(group.sought + at, _mm512_or_si512(_mm512_slli_epi64(code, IPV6_LENGTHS_CODE_SHIFT), number));
  for (std::size_t i = at; i < std::min(count, at + kLanes); ++i) prefetch_line(&view.slots->key + group.place[i]);
}

/// Looks up some of kLanes addresses one by one and returns the best states. Handles probes that have met as many
/// foreign slots as the counter can hold.
[[gnu::noinline, gnu::target("arch=x86-64-v4")]] inline __m512i finish(const ipv6_lengths_view& view,
                                                                       const ipv6_address* address, __mmask8 some,
                                                                       __m512i best) {
  alignas(64) std::uint64_t states[kLanes];
  _mm512_store_si512(states, best);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if ((some >> lane & 1) == 0) continue;
    const std::uint64_t number = states[lane] & IPV6_LENGTHS_CODE;
    std::uint16_t next_hop = 0;
    ipv6_lengths_lookup(view, &address[number >> IPV6_LENGTHS_CODE_SHIFT], &next_hop, 1);
    states[lane] = number | static_cast<std::uint16_t>(~next_hop);
  }
  return _mm512_load_si512(states);
}

/// Evaluates the slots of up to kLanes addresses. Returns the number of unfinished addresses, including the `left`
/// before.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::size_t take(const ipv6_lengths_view& view,
                                                                              const ipv6_address* address,
                                                                              std::size_t at, std::size_t count,
                                                                              Group& group, std::size_t left) {
  const __mmask8 lanes = lanes_of(at, count);
  const __m512i place = _mm512_load_si512(group.place + at);
  const __m512i state = gather(&view.slots->state, place, lanes);
  // The key is read after the state: a reader that sees the state sees the key.
  std::atomic_signal_fence(std::memory_order_acquire);
  const __m512i its_key = gather(&view.slots->key, place, lanes);
  const __m512i best = _mm512_load_si512(group.best + at);
  const __m512i length = _mm512_load_si512(group.length + at);
  const __mmask8 is_split = _mm512_cmpeq_epi64_mask(length, all_lanes(IPV6_LENGTHS_SPLIT));
  const __m512i compared =
      _mm512_mask_mov_epi64(all_lanes(IPV6_LENGTHS_CODE | IPV6_LENGTHS_NUMBER), is_split, all_lanes(IPV6_LENGTHS_CODE));
  const __m512i of_state = _mm512_and_si512(_mm512_xor_si512(state, _mm512_load_si512(group.sought + at)), compared);
  const __m512i of_key = _mm512_xor_si512(its_key, _mm512_load_si512(group.key + at));
  const __m512i other = _mm512_or_si512(of_state, of_key);
  const __mmask8 found = _mm512_mask_testn_epi64_mask(lanes, other, other);
  const __mmask8 of_another =
      _mm512_mask_test_epi64_mask(static_cast<__mmask8>(~found), state, all_lanes(IPV6_LENGTHS_CODE));
  const __m512i without_step = _mm512_and_si512(best, _mm512_sub_epi64(best, all_lanes(kFirstStep)));
  const __m512i decided = with_number(_mm512_mask_mov_epi64(without_step, found, state), best);
  __m512i next = _mm512_mask_add_epi64(decided, of_another, best, all_lanes(std::uint64_t{1} << kMetShift));
  const __m512i all_met = all_lanes(kMet);
  const __mmask8 uncounted = _mm512_mask_cmpeq_epi64_mask(of_another, _mm512_and_si512(best, all_met), all_met);
  if (uncounted != 0) [[unlikely]]
    next = finish(view, address, uncounted, _mm512_mask_mov_epi64(next, uncounted, best));
  const __m512i steps =
      _mm512_mask_i64gather_epi64(_mm512_load_si512(group.steps + at), found, length, view.steps, sizeof *view.steps);
  return divide(group, left, lanes, _mm512_load_si512(group.high + at), next, steps);
}

/// Has the arguments and results of the shader.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_lengths_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  Group group;
  while (n > 0) {
    const std::size_t count = std::min<std::size_t>(n, kGroup);
    std::size_t left = 0;
    group.answers = 0;
    for (std::size_t first = 0; first < count; first += kLanes) left = begin(view, address, first, count, group, left);
    while (left > 0) {
      for (std::size_t at = 0; at < left; at += kLanes) find_places(view, address, at, left, group);
      const std::size_t probed = std::exchange(left, 0);
      for (std::size_t at = 0; at < probed; at += kLanes) left = take(view, address, at, probed, group, left);
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
