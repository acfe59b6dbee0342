// SPDX-License-Identifier: Apache-2.0
//
// dir24_8_lookup() for cores with AVX-512. Gathers the entries of sixteen addresses at once, then the second-level
// entries of addresses with a group.
#pragma once

#include <cstdint>

#include "base/avx512.h"
#include "tables/dir24_8/dir24_8.shader.h"

namespace penumbra::dir24_8 {

constexpr std::uint32_t kLanes = 16;

/// Returns the entries of the `asked` lanes by their numbers, in the lower halves of the lanes. Lanes that are not
/// asked have `otherwise`. A gather loads each entry with its neighbour as an aligned word, so no load is torn or past
/// the end of the table.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i gather_entries(const std::uint16_t* table,
                                                                                    __m512i number, __mmask16 asked,
                                                                                    __m512i otherwise) {
  const __m512i pair = _mm512_srli_epi32(number, 1);
  __m512i words = otherwise;
  if constexpr (kThreadSanitizer) {  // ThreadSanitizer does not see the loads of an intrinsic.
    alignas(64) std::uint32_t at[kLanes], word[kLanes];
    _mm512_store_si512(at, pair);
    _mm512_store_si512(word, otherwise);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((asked >> lane & 1) == 0) continue;
      const std::uint16_t* const both = &table[std::size_t{2} * at[lane]];
      word[lane] = penumbra_load(&both[0]) | std::uint32_t{penumbra_load(&both[1])} << 16;
    }
    words = _mm512_load_si512(word);
  } else {
    words = _mm512_mask_i32gather_epi32(otherwise, asked, pair, table, 4);
  }
  const __m512i shift = _mm512_slli_epi32(_mm512_and_si512(number, _mm512_set1_epi32(1)), 4);
  return _mm512_and_si512(_mm512_mask_srlv_epi32(words, asked, words, shift), _mm512_set1_epi32(0xFFFF));
}

/// Returns the final entries of kLanes addresses, following groups. `entry` is in the lower halves of the lanes.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i follow_groups(const std::uint16_t* tbl8,
                                                                                   __m512i entry, __m512i addresses) {
  const __m512i group = _mm512_sub_epi32(entry, _mm512_set1_epi32(DIR24_8_NEXT_HOPS));
  const __mmask16 lead_on = _mm512_cmplt_epu32_mask(group, _mm512_set1_epi32(DIR24_8_GROUPS));
  if (lead_on == 0) return entry;
  const __m512i last = _mm512_and_si512(addresses, _mm512_set1_epi32(DIR24_8_GROUP_ENTRIES - 1));
  return gather_entries(tbl8, _mm512_add_epi32(_mm512_slli_epi32(group, 8), last), lead_on, entry);
}

/// Has the arguments and results of the shader.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(dir24_8_view view, const std::uint32_t* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  constexpr __mmask16 kAll = 0xFFFF;
  for (; n >= kLanes; n -= kLanes) {
    const __m512i addresses = _mm512_loadu_si512(address);
    const __m512i first = gather_entries(view.tbl24, _mm512_srli_epi32(addresses, 8), kAll, _mm512_setzero_si512());
    const __m512i entry = follow_groups(view.tbl8, first, addresses);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(next_hop), _mm512_cvtepi32_epi16(entry));
    address += kLanes;
    next_hop += kLanes;
  }
  if (n > 0) dir24_8_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::dir24_8
