// SPDX-License-Identifier: Apache-2.0
//
// ipv6_runs_lookup() for cores with AVX-512: sixteen addresses at a time as far as lines, and a line's numbers at once.
// Addresses go through each of the steps together, so that all their lines are asked for before the first is read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "tables/ipv6_runs/ipv6_runs.shader.h"

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

/// The units of addresses, and their lines, which are asked for. `kBlocks` times kLanes addresses take each step
/// together: none waits for what another has asked for.
template <std::size_t kBlocks>
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_lines(const ipv6_runs_view& view,
                                                                             const ipv6_address* address,
                                                                             Group& group) {
  static_assert(IPV6_RUNS_ROOT_BITS == 24 && IPV6_RUNS_UNIT_BITS == 32 && sizeof(ipv6_address) == 16);
  const __m512i high_words = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  __m512i unit[kBlocks], entry[kBlocks], order[kBlocks];
#pragma GCC unroll 4
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const ipv6_address* const its = address + block * kLanes;
    const __m512i first = _mm512_permutex2var_epi64(_mm512_loadu_si512(its), high_words, _mm512_loadu_si512(its + 4));
    const __m512i second =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(its + 8), high_words, _mm512_loadu_si512(its + 12));
    const __m512i slot = _mm512_srli_epi32(upper_halves(first, second), 32 - IPV6_RUNS_ROOT_BITS);
    unit[block] = lower_halves(_mm512_srli_epi64(first, 8), _mm512_srli_epi64(second, 8));
    _mm512_store_si512(group.unit + block * kLanes, unit[block]);
    entry[block] = next(gather_first(view.root, slot), unit[block], order[block]);
  }
#pragma GCC unroll 4
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const __m512i rest = _mm512_sllv_epi32(unit[block], order[block]);
    const __m512i line = next(gather_first(view.entries, entry[block]), rest, order[block]);
    _mm512_store_si512(group.line + block * kLanes, line);
  }
  for (std::size_t i = 0; i < kBlocks * kLanes; ++i) __builtin_prefetch(&view.lines[group.line[i]]);
}

/// Writes what the lines of kLanes addresses say.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_answers(const ipv6_runs_view& view,
                                                                               const Group& group, std::size_t at,
                                                                               std::uint16_t* next_hop) {
  constexpr unsigned kStarts = (1U << (IPV6_RUNS_OF_A_LINE - 1)) - 1;
#pragma GCC unroll 16
  for (std::uint32_t i = 0; i < kLanes; ++i) {
    const ipv6_runs_line& line = view.lines[group.line[at + i]];
    const __m512i unit = _mm512_set1_epi32(static_cast<int>(group.unit[at + i]));
    const unsigned begun = _mm512_mask_cmple_epu32_mask(kStarts, _mm512_load_si512(&line), unit);
    next_hop[i] = static_cast<std::uint16_t>(~penumbra_load(&line.value[std::popcount(begun)]));
  }
}

/// Which of kLanes answers are none, but lead on.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline unsigned lead_on(const std::uint16_t* next_hop) {
  static_assert(IPV6_RUNS_DEEPER == 0x8000);
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(next_hop));
  return _mm256_cmplt_epi16_mask(values, _mm256_set1_epi16(-1));
}

/// The answers of `kBlocks` times kLanes addresses.
template <std::size_t kBlocks>
[[gnu::target("arch=x86-64-v4")]] inline void lookup_blocks(const ipv6_runs_view& view, const ipv6_address* address,
                                                            std::uint16_t* next_hop) {
  Group group;
  find_lines<kBlocks>(view, address, group);
  for (std::size_t at = 0; at < kBlocks * kLanes; at += kLanes) find_answers(view, group, at, next_hop + at);
  // Once more through all of them, when they have been written: what is read right behind a write waits for it.
  for (std::size_t at = 0; at < kBlocks * kLanes; at += kLanes) {
    for (unsigned left = lead_on(next_hop + at); left != 0; left &= left - 1) {
      const auto i = at + static_cast<std::size_t>(std::countr_zero(left));
      ipv6_runs_lookup(view, address + i, next_hop + i, 1);
    }
  }
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_runs_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  constexpr std::uint32_t kTwoBlocks = 2 * kLanes;
  ask_for(address, std::min(n, kGroup));
  for (; n >= kGroup; n -= kGroup, address += kGroup, next_hop += kGroup) {
    ask_for(address + kGroup, std::min(n - kGroup, kGroup));
    lookup_blocks<kGroup / kLanes>(view, address, next_hop);
  }
  for (; n >= kTwoBlocks; n -= kTwoBlocks, address += kTwoBlocks, next_hop += kTwoBlocks)
    lookup_blocks<2>(view, address, next_hop);
  for (; n >= kLanes; n -= kLanes, address += kLanes, next_hop += kLanes) lookup_blocks<1>(view, address, next_hop);
  if (n > 0) ipv6_runs_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::ipv6_runs
