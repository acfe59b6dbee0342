// SPDX-License-Identifier: Apache-2.0
//
// rules_fast_narrow() for cores with AVX-512: sixteen keys at a time, and all rules of a block at once. Keys take each
// step together, so that the loads of their leaves overlap. No branch depends on a single key.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "tables/rules_fast/rules_fast.shader.h"

namespace penumbra::rules_fast {

constexpr std::uint32_t kLanes = 16;
/// Number of keys that take the steps together.
constexpr std::uint32_t kTogether = 256;
constexpr unsigned kNumberBits =
    32 - std::countr_zero(unsigned{RULES_FAST_TWO_BLOCKS});  ///< bits of a look below the block number
static_assert(kTogether <= 1 << kNumberBits);
/// The first kAlone groups are searched one at a time, because they decide most keys. Later groups are searched kAtOnce
/// at a time, without the results of each other.
constexpr std::uint32_t kAlone = 3, kAtOnce = 6;
/// Groups without rules above this coarse rank class (half of all classes) are late. Keys with a better rule are
/// answered before the late groups.
constexpr std::uint32_t kLate = 32;
constexpr std::uint32_t kMostSegments = kTogether / kLanes * kAtOnce;
constexpr std::uint32_t kMostLooks = kMostSegments * kLanes * 2;
constexpr unsigned kNarrowParts = RULES_NARROW_WORDS * 2;
constexpr unsigned kKeyShift = 4, kBlockShift = 7;
static_assert(sizeof(rules_narrow_key) == 1 << kKeyShift && sizeof(rules_fast_narrow_block) == 1 << kBlockShift);

/// The looks of kLanes adjacent keys into the first and second blocks of leaves. A look is a comparison of a key with a
/// block.
struct Segment {
  std::uint32_t at;                       ///< index of the first key
  std::uint32_t first_look, second_look;  ///< first indices of the looks
  __mmask16 first_wanted, second_wanted;  ///< lanes of the keys with a look
};

/// The state of a group of lookups.
struct Way {
  // Undecided keys: their parts, their numbers and their best entries.
  alignas(64) std::uint32_t part[kNarrowParts][kTogether];
  alignas(64) std::uint32_t number[kTogether];
  alignas(64) std::uint32_t best[kTogether];
  std::uint32_t count;
  // Looks. `look` has the block above the key's number. `block` and `key` are byte offsets into all blocks and all
  // keys. `outside` has a bit for each lane outside the box, and `entry` is the matching entry.
  alignas(64) std::uint32_t look[kMostLooks + kLanes];
  alignas(64) std::uint32_t block[kMostLooks + kLanes];
  alignas(64) std::uint32_t key[kMostLooks + kLanes];
  alignas(64) std::uint32_t outside[kMostLooks + kLanes];
  alignas(64) std::uint32_t entry[kMostLooks + kLanes];
  Segment segment[kMostSegments];
  std::uint32_t looks, segments;
  // Leaves that must be searched rule by rule.
  alignas(64) std::uint32_t special_slot[kTogether * kAtOnce + kLanes];
  alignas(64) std::uint32_t special_key[kTogether * kAtOnce + kLanes];
  std::uint32_t specials;
};

#define PENUMBRA_AVX512 [[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline

PENUMBRA_AVX512 __m512i all(std::uint32_t value) {
  return _mm512_set1_epi32(static_cast<int>(value));
}
/// Returns the mask of the lanes that exist if `left` items are left.
PENUMBRA_AVX512 __mmask16 lanes_of(std::uint32_t left) {
  return static_cast<__mmask16>(_bzhi_u32(0xFFFF, std::min(left, kLanes)));
}
PENUMBRA_AVX512 std::uint32_t count_of(__mmask16 lanes) {
  return static_cast<std::uint32_t>(std::popcount(static_cast<unsigned>(lanes)));
}

/// Separates the parts of kLanes keys.
PENUMBRA_AVX512 void take_apart(const rules_narrow_key* key, std::uint32_t at, Way& way) {
  const __m512i a = _mm512_loadu_si512(key), b = _mm512_loadu_si512(key + 4);
  const __m512i c = _mm512_loadu_si512(key + 8), d = _mm512_loadu_si512(key + 12);
  const __m512i first = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
  constexpr std::array<std::uint32_t, kNarrowParts> kOffset{1, 0, 3, 2};
#pragma GCC unroll 4
  for (unsigned part = 0; part < kNarrowParts; ++part) {
    const __m512i chosen = _mm512_add_epi32(first, all(kOffset[part]));
    const __m512i low = _mm512_permutex2var_epi32(a, chosen, b), high = _mm512_permutex2var_epi32(c, chosen, d);
    _mm512_store_si512(way.part[part] + at, _mm512_mask_blend_epi64(0xF0, low, high));
  }
}

/// Answers keys that groups with coarse rank classes up to `limit` cannot improve, and keeps the other keys.
PENUMBRA_AVX512 void answer(std::uint32_t limit, std::uint32_t* rule, Way& way) {
  std::uint32_t kept = 0;
  for (std::uint32_t at = 0; at < way.count; at += kLanes) {
    const __mmask16 lanes = lanes_of(way.count - at);
    const __m512i best = _mm512_load_si512(way.best + at), number = _mm512_load_si512(way.number + at);
    const __mmask16 open =
        _mm512_mask_cmple_epu32_mask(lanes, _mm512_srli_epi32(best, RULES_FAST_COARSE_SHIFT), all(limit));
    _mm512_mask_i32scatter_epi32(rule, static_cast<__mmask16>(lanes & ~open), number,
                                 _mm512_and_si512(best, all(RULES_FAST_NUMBER_MASK)), 4);
    // Kept keys are stored before the keys that are still to be read.
    _mm512_storeu_si512(way.best + kept, _mm512_maskz_compress_epi32(open, best));
    _mm512_storeu_si512(way.number + kept, _mm512_maskz_compress_epi32(open, number));
#pragma GCC unroll 4
    for (auto& part : way.part) {
      _mm512_storeu_si512(part + kept, _mm512_maskz_compress_epi32(open, _mm512_load_si512(part + at)));
    }
    kept += count_of(open);
  }
  way.count = kept;
}

/// Appends the looks of the `wanted` lanes. Returns the index of the first.
PENUMBRA_AVX512 std::uint32_t append(Way& way, __mmask16 wanted, __m512i look) {
  const std::uint32_t first = way.looks;
  _mm512_storeu_si512(way.look + first, _mm512_maskz_compress_epi32(wanted, look));
  way.looks = first + count_of(wanted);
  return first;
}

/// Finds the slots of keys in a group and notes the looks.
PENUMBRA_AVX512 void find_leaves(const rules_fast_view& view, const rules_fast_group& group, Way& way) {
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(group.shift));
  const std::uint32_t* slots = view.slot + group.first_slot;
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (std::uint32_t at = 0; at < way.count; at += kLanes) {
    __m512i hash = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (unsigned part = 0; part < kNarrowParts; ++part) {
      const __m512i bits = _mm512_and_si512(_mm512_load_si512(way.part[part] + at), all(group.mask[part]));
      hash = _mm512_add_epi32(hash, _mm512_mullo_epi32(bits, all(group.multiplier[part])));
    }
    const __m512i slot = gather_first(slots, _mm512_srl_epi32(hash, shift));
    const __m512i best = _mm512_load_si512(way.best + at);
    const __m512i number = _mm512_load_si512(way.number + at);
    const __mmask16 better =
        _mm512_mask_cmpge_epu32_mask(lanes_of(way.count - at), _mm512_srli_epi32(slot, RULES_FAST_COARSE_SHIFT),
                                     _mm512_srli_epi32(best, RULES_FAST_COARSE_SHIFT));
    __mmask16 wanted = _mm512_mask_test_epi32_mask(better, slot, slot);
    const __mmask16 special = _mm512_mask_test_epi32_mask(wanted, slot, all(RULES_FAST_MANY_BLOCKS | RULES_FAST_CHECK));
    if (special != 0) [[unlikely]] {
      _mm512_storeu_si512(way.special_slot + way.specials, _mm512_maskz_compress_epi32(special, slot));
      _mm512_storeu_si512(way.special_key + way.specials,
                          _mm512_maskz_compress_epi32(special, _mm512_add_epi32(lane, all(at))));
      way.specials += count_of(special);
      wanted &= static_cast<__mmask16>(~special);
    }
    const __mmask16 longer = _mm512_mask_test_epi32_mask(wanted, slot, all(RULES_FAST_TWO_BLOCKS));
    const __m512i look = _mm512_or_si512(_mm512_slli_epi32(slot, kNumberBits), number);
    Segment& segment = way.segment[way.segments++];
    segment.at = at;
    segment.first_wanted = wanted;
    segment.second_wanted = longer;
    segment.first_look = append(way, wanted, look);
    segment.second_look = append(way, longer, _mm512_add_epi32(look, all(1U << kNumberBits)));
  }
}

/// Compares keys with the rules of blocks.
PENUMBRA_AVX512 void look(const rules_fast_view& view, const rules_narrow_key* keys, Way& way) {
  for (std::uint32_t i = 0; i < way.looks; i += kLanes) {
    const __m512i look = _mm512_load_si512(way.look + i);
    const __m512i block = _mm512_srli_epi32(look, kNumberBits);
    _mm512_store_si512(way.block + i, _mm512_slli_epi32(block, kBlockShift));
    _mm512_store_si512(way.key + i, _mm512_slli_epi32(_mm512_and_si512(look, all(kTogether - 1)), kKeyShift));
  }
  constexpr __mmask32 kLanesOfKey = 0x01010101U * (0xFF ^ 1U << RULES_FAST_ENTRY_LANE);
  const auto* blocks = reinterpret_cast<const std::byte*>(view.narrow);
  const std::uint32_t looks = way.looks;
#pragma GCC unroll 4
  for (std::uint32_t i = 0; i < looks; ++i) {
    const auto* block = reinterpret_cast<const rules_fast_narrow_block*>(blocks + way.block[i]);
    const auto* key = reinterpret_cast<const __m128i*>(reinterpret_cast<const std::byte*>(keys) + way.key[i]);
    const __m512i above = _mm512_sub_epi16(_mm512_broadcast_i32x4(_mm_loadu_si128(key)), _mm512_load_si512(block->low));
    way.outside[i] = _mm512_mask_cmpgt_epu16_mask(kLanesOfKey, above, _mm512_load_si512(block->span));
  }
}

/// Reads the entry of the matching rule of each look.
PENUMBRA_AVX512 void read_entries(const rules_fast_view& view, Way& way) {
  const auto* entries = reinterpret_cast<const std::byte*>(view.narrow) + 2 * RULES_FAST_ENTRY_LANE;
  for (std::uint32_t i = 0; i < way.looks; i += kLanes) {
    const __m512i outside = _mm512_load_si512(way.outside + i);
    // The lowest zero byte belongs to the best matching rule. The lowest bit of `zeros` is the uppermost bit of that
    // byte.
    const __m512i zeros =
        _mm512_and_si512(_mm512_andnot_si512(outside, _mm512_sub_epi32(outside, all(0x01010101))), all(0x80808080));
    const __mmask16 noted = lanes_of(way.looks - i);
    const __mmask16 found = _mm512_mask_test_epi32_mask(noted, zeros, zeros);
    const __m512i lowest = _mm512_and_si512(zeros, _mm512_sub_epi32(_mm512_setzero_si512(), zeros));
    // For row r, that bit has 24 - 8 r leading zeros, and the row begins 16 r bytes after the start of the block.
    const __m512i row = _mm512_slli_epi32(_mm512_sub_epi32(all(24), _mm512_lzcnt_epi32(lowest)), 1);
    const __m512i at = _mm512_add_epi32(_mm512_load_si512(way.block + i), row);
    const __m512i low = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), found, at, entries, 1);
    const __m512i high = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), found, at,
                                                     entries + offsetof(rules_fast_narrow_block, span), 1);
    _mm512_store_si512(way.entry + i, _mm512_or_si512(_mm512_and_si512(low, all(0xFFFF)), _mm512_slli_epi32(high, 16)));
  }
}

/// Stores entries that are better than the best so far.
PENUMBRA_AVX512 void take_best(const rules_fast_view& view, Way& way) {
  constexpr std::uint32_t kClass = 1U << RULES_FAST_CLASS_SHIFT;
  for (std::uint32_t i = 0; i < way.segments; ++i) {
    const Segment& segment = way.segment[i];
    const std::uint32_t at = segment.at;
    const __m512i first =
        _mm512_maskz_expand_epi32(segment.first_wanted, _mm512_loadu_si512(way.entry + segment.first_look));
    const __m512i second =
        _mm512_maskz_expand_epi32(segment.second_wanted, _mm512_loadu_si512(way.entry + segment.second_look));
    const __m512i entry = _mm512_mask_mov_epi32(first, _mm512_testn_epi32_mask(first, first), second);
    const __m512i before = _mm512_load_si512(way.best + at);
    const __m512i difference = _mm512_xor_si512(entry, before);
    _mm512_store_si512(way.best + at, _mm512_max_epu32(entry, before));
    // Ranks decide between two entries of one rank class.
    const __mmask16 alike = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(difference, all(1)), all(kClass - 1));
    if (alike != 0) [[unlikely]] {
      alignas(64) std::uint32_t one[kLanes], other[kLanes];
      _mm512_store_si512(one, entry);
      _mm512_store_si512(other, before);
      for (unsigned rest = alike; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        way.best[at + static_cast<std::uint32_t>(lane)] = rules_fast_better(&view, one[lane], other[lane]);
      }
    }
  }
  way.looks = way.segments = 0;
}

/// Searches the special leaves rule by rule.
inline void look_closely(const rules_fast_view& view, const rules_narrow_key* keys, std::uint32_t state, Way& way) {
  for (std::uint32_t i = 0; i < way.specials; ++i) {
    const std::uint32_t at = way.special_key[i];
    const std::uint32_t entry = rules_fast_find_narrow(&view, way.special_slot[i], keys[way.number[at]].word, state);
    way.best[at] = rules_fast_better(&view, entry, way.best[at]);
  }
  way.specials = 0;
}

/// Answers up to kTogether keys, a multiple of kLanes.
PENUMBRA_AVX512 void classify(const rules_fast_view& view, const rules_narrow_key* key, std::uint32_t* rule,
                              std::uint32_t count) {
  const std::uint32_t state = penumbra_load_first(view.state);
  Way way;
  way.looks = way.segments = way.specials = 0;
  way.count = count;
  const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (std::uint32_t at = 0; at < count; at += kLanes) {
    take_apart(key + at, at, way);
    _mm512_store_si512(way.best + at, _mm512_setzero_si512());
    _mm512_store_si512(way.number + at, _mm512_add_epi32(lane, all(at)));
  }
  std::uint32_t late = view.groups, limit = 0;
  for (; late > 0; --late) {
    const std::uint32_t best = penumbra_load(&view.group[late - 1].best);
    if (best > kLate) break;
    limit = std::max(limit, best);
  }
  for (std::uint32_t group = 0; group < view.groups && way.count > 0;) {
    if (group == late) answer(limit, rule, way);
    const std::uint32_t together = group < kAlone ? 1 : kAtOnce;
    const std::uint32_t end = std::min(group + together, group < late ? late : view.groups);
    for (; group < end; ++group) find_leaves(view, view.group[group], way);
    look(view, key, way);
    read_entries(view, way);
    take_best(view, way);
    if (way.specials > 0) [[unlikely]]
      look_closely(view, key, state, way);
  }
  for (std::uint32_t at = 0; at < way.count; at += kLanes) {
    const __m512i best = _mm512_and_si512(_mm512_load_si512(way.best + at), all(RULES_FAST_NUMBER_MASK));
    _mm512_mask_i32scatter_epi32(rule, lanes_of(way.count - at), _mm512_load_si512(way.number + at), best, 4);
  }
}

/// Has the arguments and results of the shader.
[[gnu::target("arch=x86-64-v4")]] inline void narrow_avx512(rules_fast_view view, const rules_narrow_key* key,
                                                            std::uint32_t* rule, std::uint32_t n) {
  while (n >= kLanes) {
    const std::uint32_t count = std::min(n, kTogether) / kLanes * kLanes;
    classify(view, key, rule, count);
    key += count;
    rule += count;
    n -= count;
  }
  if (n > 0) rules_fast_narrow(view, key, rule, n);
}

#undef PENUMBRA_AVX512

}  // namespace penumbra::rules_fast
