// SPDX-License-Identifier: Apache-2.0
//
// ipv6_runs_lookup() for cores with AVX-512: sixteen addresses at a time as far as lines, and a line's numbers at once.
// Addresses go through each of the steps together, so that all their lines are asked for before the first is read.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "shaders/ipv6_runs/ipv6_runs.shader.h"

namespace penumbra::ipv6_runs {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 16;

/// Where addresses are on their way.
struct Group {
  alignas(64) std::uint32_t unit[kGroup];
  alignas(64) std::uint32_t line[kGroup];
  alignas(64) std::uint32_t in_node[kGroup + kLanes];  ///< those whose line is a node's
  std::uint32_t in_nodes = 0;
};

/// The units of kLanes addresses and the lines that their entries lead to.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_entries(const ipv6_runs_view& view,
                                                                               const ipv6_address* address,
                                                                               std::uint32_t at, Group& group) {
  static_assert(IPV6_RUNS_ROOT_BITS == 24 && IPV6_RUNS_UNIT_BITS == 32 && sizeof(ipv6_address) == 16);
  const __m512i high_words = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  const __m512i order_mask = _mm512_set1_epi32((1 << IPV6_RUNS_ORDER_BITS) - 1);
  const __m512i unit_bits = _mm512_set1_epi32(IPV6_RUNS_UNIT_BITS);

  const __m512i first =
      _mm512_permutex2var_epi64(_mm512_loadu_si512(address), high_words, _mm512_loadu_si512(address + 4));
  const __m512i second =
      _mm512_permutex2var_epi64(_mm512_loadu_si512(address + 8), high_words, _mm512_loadu_si512(address + 12));
  const __m512i slot = _mm512_srli_epi32(_mm512_permutex2var_epi32(first, odd, second), 32 - IPV6_RUNS_ROOT_BITS);
  const __m512i unit = _mm512_permutex2var_epi32(_mm512_srli_epi64(first, 8), even, _mm512_srli_epi64(second, 8));
  const __m512i element = _mm512_i32gather_epi32(slot, view.root, 4);
  // A shift by 32 gives 0 here.
  const __m512i order = _mm512_and_si512(element, order_mask);
  const __m512i number = _mm512_add_epi32(_mm512_srli_epi32(element, IPV6_RUNS_ORDER_BITS),
                                          _mm512_srlv_epi32(unit, _mm512_sub_epi32(unit_bits, order)));
  __m512i entry = _mm512_i32gather_epi32(number, view.entries, 4);
  const __m512i further = _mm512_and_si512(entry, order_mask);
  const __mmask16 leads_on = _mm512_cmpgt_epu32_mask(further, _mm512_set1_epi32(IPV6_RUNS_NODE));
  const __m512i rest = _mm512_sllv_epi32(unit, order);
  const __m512i next = _mm512_add_epi32(_mm512_srli_epi32(entry, IPV6_RUNS_ORDER_BITS),
                                        _mm512_srlv_epi32(rest, _mm512_sub_epi32(unit_bits, further)));
  entry = _mm512_mask_i32gather_epi32(entry, leads_on, next, view.entries, 4);

  _mm512_store_si512(group.unit + at, unit);
  _mm512_store_si512(group.line + at, _mm512_srli_epi32(entry, IPV6_RUNS_ORDER_BITS));
  const __mmask16 node = _mm512_test_epi32_mask(entry, _mm512_set1_epi32(IPV6_RUNS_NODE));
  const __m512i numbers = _mm512_add_epi32(_mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                           _mm512_set1_epi32(static_cast<int>(at)));
  _mm512_storeu_si512(group.in_node + group.in_nodes, _mm512_maskz_compress_epi32(node, numbers));
  group.in_nodes += static_cast<std::uint32_t>(std::popcount(static_cast<unsigned>(node)));
  for (std::uint32_t i = at; i < at + kLanes; ++i) __builtin_prefetch(&view.lines[group.line[i]]);
}

[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_runs_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  constexpr unsigned kStarts = (1U << (IPV6_RUNS_OF_A_LINE - 1)) - 1;
  while (n >= kLanes) {
    const std::uint32_t count = std::min(n, kGroup) / kLanes * kLanes;
    Group group;
    for (std::uint32_t at = 0; at < count; at += kLanes) find_entries(view, address + at, at, group);
    for (std::uint32_t i = 0; i < group.in_nodes; ++i) {
      const std::uint32_t at = group.in_node[i];
      const unsigned before = _mm512_cmplt_epu32_mask(_mm512_load_si512(&view.lines[group.line[at]]),
                                                      _mm512_set1_epi32(static_cast<int>(group.unit[at])));
      group.line[at] += 1 + static_cast<std::uint32_t>(std::popcount(before));
      __builtin_prefetch(&view.lines[group.line[at]]);
    }
    for (std::uint32_t begin = 0; begin < count; begin += kLanes) {
      alignas(32) std::uint16_t value[kLanes];
#pragma GCC unroll 16
      for (std::uint32_t i = 0; i < kLanes; ++i) {
        const ipv6_runs_line& line = view.lines[group.line[begin + i]];
        const unsigned begun = _mm512_mask_cmple_epu32_mask(kStarts, _mm512_load_si512(&line),
                                                            _mm512_set1_epi32(static_cast<int>(group.unit[begin + i])));
        value[i] = penumbra_load(&line.leaf.value[std::popcount(begun)]);
      }
      const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(value));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(next_hop + begin),
                          _mm256_xor_si256(values, _mm256_set1_epi32(-1)));
      const __mmask16 leads_on = _mm256_cmpgt_epi16_mask(values, _mm256_setzero_si256());
      for (unsigned left = leads_on; left != 0; left &= left - 1) {
        const auto i = begin + static_cast<std::uint32_t>(std::countr_zero(left));
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
