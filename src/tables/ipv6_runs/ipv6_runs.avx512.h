// SPDX-License-Identifier: Apache-2.0
//
// ipv6_runs_lookup() for cores with AVX-512. Sixteen addresses at a time find their lines, and the starts of a line are
// compared at once. Addresses take each step together, so that all their lines are prefetched before the first is read.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "tables/ipv6_runs/ipv6_runs.shader.h"

namespace penumbra::ipv6_runs {

/// Number of addresses that take the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 16;

/// The state of the lookups of a group.
struct Group {
  alignas(64) std::uint32_t unit[kGroup];
  alignas(64) std::uint32_t line[kGroup];
};

/// Prefetches addresses that are read only once, so that they do not evict the table from the caches.
inline void ask_for(const ipv6_address* address, std::uint32_t count) {
  constexpr std::uint32_t kOfALine = 64 / sizeof(ipv6_address);
  for (std::uint32_t i = 0; i < count; i += kOfALine) __builtin_prefetch(address + i, 0, 0);
}

/// Returns the numbers to which elements lead; `rest` is as in ipv6_runs_next(). Sets `order` to the orders of the
/// elements.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i next(__m512i element, __m512i rest,
                                                                          __m512i& order) {
  order = _mm512_and_si512(element, _mm512_set1_epi32((1 << IPV6_RUNS_ORDER_BITS) - 1));
  // A shift by 32 bits gives 0 here.
  const __m512i chosen = _mm512_srlv_epi32(rest, _mm512_sub_epi32(_mm512_set1_epi32(IPV6_RUNS_UNIT_BITS), order));
  return _mm512_add_epi32(_mm512_srli_epi32(element, IPV6_RUNS_ORDER_BITS), chosen);
}

/// Computes the units and lines of addresses, and prefetches the lines. `kBlocks` times kLanes addresses take each step
/// together, so that no gather waits for an earlier gather.
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

/// Writes the values that kLanes addresses have in their lines.
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

/// Returns the mask of the values that are no answers but lead to further lines.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline unsigned lead_on(const std::uint16_t* next_hop) {
  static_assert(IPV6_RUNS_DEEPER == 0x8000);
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(next_hop));
  return _mm256_cmplt_epi16_mask(values, _mm256_set1_epi16(-1));
}

/// Writes the answers of `kBlocks` times kLanes addresses.
template <std::size_t kBlocks>
[[gnu::target("arch=x86-64-v4")]] inline void lookup_blocks(const ipv6_runs_view& view, const ipv6_address* address,
                                                            std::uint16_t* next_hop) {
  Group group;
  find_lines<kBlocks>(view, address, group);
  for (std::size_t at = 0; at < kBlocks * kLanes; at += kLanes) find_answers(view, group, at, next_hop + at);
  // A second loop continues the unfinished lookups after all values are written: a load directly after the store would
  // wait for it.
  for (std::size_t at = 0; at < kBlocks * kLanes; at += kLanes) {
    for (unsigned left = lead_on(next_hop + at); left != 0; left &= left - 1) {
      const auto i = at + static_cast<std::size_t>(std::countr_zero(left));
      ipv6_runs_lookup(view, address + i, next_hop + i, 1);
    }
  }
}

/// Has the arguments and results of the shader.
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
