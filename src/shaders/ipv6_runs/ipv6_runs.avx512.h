// SPDX-License-Identifier: Apache-2.0
//
// ipv6_runs_lookup() for cores with AVX-512: sixteen addresses at a time as far as lines, and a line's numbers at once.
// Addresses go through each of the steps together, so that all their lines are asked for before the first is read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/avx512.h"
#include "shaders/ipv6_runs/ipv6_runs.shader.h"

namespace penumbra::ipv6_runs {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 16;

/// Where addresses are on their way.
struct Group {
  alignas(64) std::uint32_t unit[kGroup];
  alignas(64) std::uint32_t line[kGroup];
};

/// Asks for addresses that will be read once, and are not to drive the table out of the caches.
inline void ask_for(const ipv6_address* address, std::uint32_t count) {
  constexpr std::uint32_t kOfALine = 64 / sizeof(ipv6_address);
  for (std::uint32_t i = 0; i < count; i += kOfALine) __builtin_prefetch(address + i, 0, 0);
}

/// Which ones elements lead to; `rest` as for ipv6_runs_next(). Makes `order` the elements' orders.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i next(__m512i element, __m512i rest,
                                                                          __m512i& order) {
  order = _mm512_and_si512(element, _mm512_set1_epi32((1 << IPV6_RUNS_ORDER_BITS) - 1));
  // A shift by 32 gives 0 here.
  const __m512i chosen = _mm512_srlv_epi32(rest, _mm512_sub_epi32(_mm512_set1_epi32(IPV6_RUNS_UNIT_BITS), order));
  return _mm512_add_epi32(_mm512_srli_epi32(element, IPV6_RUNS_ORDER_BITS), chosen);
}

/// The units of kLanes addresses, and their lines, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_lines(const ipv6_runs_view& view,
                                                                             const ipv6_address* address,
                                                                             std::uint32_t at, Group& group) {
  static_assert(IPV6_RUNS_ROOT_BITS == 24 && IPV6_RUNS_UNIT_BITS == 32 && sizeof(ipv6_address) == 16);
  const __m512i high_words = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i first =
      _mm512_permutex2var_epi64(_mm512_loadu_si512(address), high_words, _mm512_loadu_si512(address + 4));
  const __m512i second =
      _mm512_permutex2var_epi64(_mm512_loadu_si512(address + 8), high_words, _mm512_loadu_si512(address + 12));
  const __m512i slot = _mm512_srli_epi32(_mm512_permutex2var_epi32(first, odd, second), 32 - IPV6_RUNS_ROOT_BITS);
  const __m512i unit = _mm512_permutex2var_epi32(_mm512_srli_epi64(first, 8), even, _mm512_srli_epi64(second, 8));

  __m512i order, order_of_lines;
  const __m512i entry = next(gather_first(view.root, slot), unit, order);
  const __m512i line = next(gather_first(view.entries, entry), _mm512_sllv_epi32(unit, order), order_of_lines);
  _mm512_store_si512(group.unit + at, unit);
  _mm512_store_si512(group.line + at, line);
  for (std::uint32_t i = at; i < at + kLanes; ++i) __builtin_prefetch(&view.lines[group.line[i]]);
}

/// Writes the answers of kLanes addresses whose lines are known; a bit for each that has none yet.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline unsigned find_answers(const ipv6_runs_view& view,
                                                                                   const Group& group, std::uint32_t at,
                                                                                   std::uint16_t* next_hop) {
  constexpr unsigned kStarts = (1U << (IPV6_RUNS_OF_A_LINE - 1)) - 1;
  alignas(32) std::uint16_t value[kLanes];
#pragma GCC unroll 16
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const ipv6_runs_line& line = view.lines[group.line[at + i]];
    const __m512i unit = _mm512_set1_epi32(static_cast<int>(group.unit[at + i]));
    const unsigned begun = _mm512_mask_cmple_epu32_mask(kStarts, _mm512_load_si512(&line), unit);
    value[i] = penumbra_load(&line.value[std::popcount(begun)]);
  }
  const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(value));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(next_hop), _mm256_xor_si256(values, _mm256_set1_epi32(-1)));
  return _mm256_cmpgt_epi16_mask(values, _mm256_setzero_si256());  // 1 to IPV6_RUNS_DEEPER - 1
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_runs_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  ask_for(address, std::min(n, kGroup));
  while (n >= kLanes) {
    const std::uint32_t count = std::min(n, kGroup) / kLanes * kLanes;
    ask_for(address + count, std::min(n - count, kGroup));
    Group group;
    for (std::uint32_t at = 0; at < count; at += kLanes) find_lines(view, address + at, at, group);
    for (std::uint32_t at = 0; at < count; at += kLanes) {
      for (unsigned left = find_answers(view, group, at, next_hop + at); left != 0; left &= left - 1) {
        const auto i = at + static_cast<std::uint32_t>(std::countr_zero(left));
        ipv6_runs_lookup(view, address + i, next_hop + i, 1);
      }
    }
    address += count;
    next_hop += count;
    n -= count;
  }
  if (n > 0) ipv6_runs_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::ipv6_runs
