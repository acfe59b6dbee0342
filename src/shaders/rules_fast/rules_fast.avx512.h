// SPDX-License-Identifier: Apache-2.0
//
// rules_fast_narrow() for cores with AVX-512: sixteen keys at a time as far as slots, and a leaf's rules at once. Keys
// go through each group together, so that their leaves are on the way at the same time, and without a branch that
// depends on what a key is.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/avx512.h"
#include "shaders/rules_fast/rules_fast.shader.h"

namespace penumbra::rules_fast {

/// Of what goes through the groups together; a multiple of kLanes.
constexpr std::uint32_t kTogether = 64, kLanes = 16;
constexpr unsigned kNarrowParts = RULES_NARROW_WORDS * 2;

/// Keys on their way.
struct Way {
  alignas(64) std::uint32_t part[kNarrowParts][kTogether];
  alignas(64) std::uint32_t best[kTogether];             ///< entries
  alignas(64) std::uint32_t wanted[kTogether + kLanes];  ///< which keys have a leaf to look into
  alignas(64) std::uint32_t slot[kTogether + kLanes];    ///< of those
};

/// Parts of kLanes keys.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void take_apart(const rules_narrow_key* key,
                                                                             std::uint32_t at, Way& way) {
  static_assert(sizeof(rules_narrow_key) == 16);
  const __m512i a = _mm512_loadu_si512(key), b = _mm512_loadu_si512(key + 4);
  const __m512i c = _mm512_loadu_si512(key + 8), d = _mm512_loadu_si512(key + 12);
  const __m512i first = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
  constexpr std::array<int, kNarrowParts> kOffset{1, 0, 3, 2};
#pragma GCC unroll 4
  for (unsigned part = 0; part < kNarrowParts; ++part) {
    const __m512i chosen = _mm512_add_epi32(first, _mm512_set1_epi32(kOffset[part]));
    const __m512i low = _mm512_permutex2var_epi32(a, chosen, b), high = _mm512_permutex2var_epi32(c, chosen, d);
    _mm512_store_si512(way.part[part] + at, _mm512_mask_blend_epi64(0xF0, low, high));
  }
}

/// Which of the keys have a leaf in this group that may be better than what they have. Returns how many.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t find_leaves(const rules_fast_view& view,
                                                                                       const rules_fast_group& group,
                                                                                       std::uint32_t count, Way& way) {
  __m512i mask[kNarrowParts], multiplier[kNarrowParts];
  for (unsigned part = 0; part < kNarrowParts; ++part) {
    mask[part] = _mm512_set1_epi32(static_cast<int>(group.mask[part]));
    multiplier[part] = _mm512_set1_epi32(static_cast<int>(group.multiplier[part]));
  }
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(group.shift));
  const std::uint32_t* slots = view.slot + group.first_slot;
  std::uint32_t wanted = 0;
  for (std::uint32_t at = 0; at < count; at += kLanes) {
    __m512i hash = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (unsigned part = 0; part < kNarrowParts; ++part) {
      const __m512i bits = _mm512_and_si512(_mm512_load_si512(way.part[part] + at), mask[part]);
      hash = _mm512_add_epi32(hash, _mm512_mullo_epi32(bits, multiplier[part]));
    }
    const __m512i slot = gather_first(slots, _mm512_srl_epi32(hash, shift));
    const __m512i best = _mm512_load_si512(way.best + at);
    const __mmask16 better = _mm512_cmpge_epu32_mask(_mm512_srli_epi32(slot, RULES_FAST_COARSE_SHIFT),
                                                     _mm512_srli_epi32(best, RULES_FAST_COARSE_SHIFT));
    const __mmask16 is_wanted = _mm512_mask_test_epi32_mask(better, slot, slot);
    const __m512i number = _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(at)));
    _mm512_storeu_si512(way.wanted + wanted, _mm512_maskz_compress_epi32(is_wanted, number));
    _mm512_storeu_si512(way.slot + wanted, _mm512_maskz_compress_epi32(is_wanted, slot));
    wanted += static_cast<std::uint32_t>(std::popcount(static_cast<unsigned>(is_wanted)));
  }
  return wanted;
}

/// A bit for each lane of four rules that is outside of their boxes.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint64_t outside(const rules_fast_narrow_block& block,
                                                                                   __m512i key) {
  constexpr __mmask32 kLanesOfKey = 0x01010101U * (0xFF ^ 1U << RULES_FAST_ENTRY_LANE);
  const __m512i above = _mm512_sub_epi16(key, _mm512_load_si512(block.low));
  return _mm512_mask_cmpgt_epu16_mask(kLanesOfKey, above, _mm512_load_si512(block.span));
}

/// Looks into the leaves that are wanted.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void look(const rules_fast_view& view,
                                                                       const rules_narrow_key* key,
                                                                       std::uint32_t wanted, std::uint32_t state,
                                                                       Way& way) {
  for (std::uint32_t i = 0; i < wanted; ++i) {
    const std::uint32_t slot = way.slot[i], number = way.wanted[i];
    const std::uint32_t before = way.best[number];
    std::uint32_t entry = 0;
    if (slot & (RULES_FAST_MANY_BLOCKS | RULES_FAST_CHECK)) [[unlikely]] {
      entry = rules_fast_find_narrow(&view, slot, key[number].word, state);
    } else {
      // A leaf of one block is looked at twice: the first half of the answer decides.
      const rules_fast_narrow_block* block = view.narrow + (slot & RULES_FAST_BLOCK_MASK);
      const rules_fast_narrow_block* second = block + ((slot & RULES_FAST_TWO_BLOCKS) != 0);
      const __m512i lanes = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(key + number)));
      const std::uint64_t out = outside(*block, lanes) | outside(*second, lanes) << 32;
      // The lowest byte that is 0 belongs to the best rule that matches; 0x80 is left of it.
      const std::uint64_t matches = (out - 0x0101010101010101U) & ~out & 0x8080808080808080U;
      const unsigned rule = static_cast<unsigned>(std::countr_zero(matches)) / 8 % 8;
      entry = rules_fast_entry(block + rule / RULES_FAST_OF_A_BLOCK, rule % RULES_FAST_OF_A_BLOCK);
      entry = matches != 0 ? entry : 0;
    }
    // Of two of one class the ranks decide.
    if (entry != 0 && ((entry ^ before) >> RULES_FAST_CLASS_SHIFT) == 0) [[unlikely]] {
      way.best[number] = rules_fast_better(&view, entry, before);
    } else {
      way.best[number] = std::max(entry, before);
    }
  }
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void narrow_avx512(rules_fast_view view, const rules_narrow_key* key,
                                                            std::uint32_t* rule, std::uint32_t n) {
  while (n >= kLanes) {
    const std::uint32_t count = std::min(n, kTogether) / kLanes * kLanes;
    const std::uint32_t state = penumbra_load_first(view.state);
    Way way;
    for (std::uint32_t at = 0; at < count; at += kLanes) {
      take_apart(key + at, at, way);
      _mm512_store_si512(way.best + at, _mm512_setzero_si512());
    }
    for (std::uint32_t group = 0; group < view.groups; ++group) {
      look(view, key, find_leaves(view, view.group[group], count, way), state, way);
    }
    for (std::uint32_t at = 0; at < count; at += kLanes) {
      const __m512i best = _mm512_load_si512(way.best + at);
      _mm512_storeu_si512(rule + at, _mm512_and_si512(best, _mm512_set1_epi32(RULES_FAST_NUMBER_MASK)));
    }
    key += count;
    rule += count;
    n -= count;
  }
  if (n > 0) rules_fast_narrow(view, key, rule, n);
}

}  // namespace penumbra::rules_fast
