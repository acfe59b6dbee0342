// SPDX-License-Identifier: Apache-2.0
//
// Wraps AVX-512 intrinsics for functions with [[gnu::target("arch=x86-64-v4")]].
#pragma once

#include <cstdint>

#include "base/thread_sanitizer.h"
#include "penumbra/shader.h"

// GCC 12 reports the deliberately undefined registers of its own header as uninitialised variables.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

namespace penumbra {

/// Returns `value` in each of eight lanes.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i all_lanes(std::uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}

/// Returns sixteen elements of an array, each read like penumbra_load_first(). On x86 later reads through the elements
/// are ordered after them. ThreadSanitizer does not see reads of intrinsics, so it gets sixteen loads.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i gather_first(const std::uint32_t* array,
                                                                                  __m512i numbers) {
  if constexpr (!kThreadSanitizer) return _mm512_i32gather_epi32(numbers, array, 4);
  alignas(64) std::uint32_t element[16];
  _mm512_store_si512(element, numbers);
  for (std::uint32_t& each : element) each = penumbra_load_first(&array[each]);
  return _mm512_load_si512(element);
}

/// Returns sixteen elements in the lanes of `asked`, each read like penumbra_load(); the other lanes have `otherwise`.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i gather(const std::uint32_t* array, __m512i numbers,
                                                                            __mmask16 asked, __m512i otherwise) {
  if constexpr (!kThreadSanitizer) return _mm512_mask_i32gather_epi32(otherwise, asked, numbers, array, 4);
  alignas(64) std::uint32_t number[16], element[16];
  _mm512_store_si512(number, numbers);
  _mm512_store_si512(element, otherwise);
  for (unsigned lane = 0; lane < 16; ++lane) {
    if ((asked >> lane & 1) != 0) element[lane] = penumbra_load(&array[number[lane]]);
  }
  return _mm512_load_si512(element);
}

/// Returns eight 64-bit elements in the lanes of `asked`, each read like penumbra_load(); the other lanes have 0.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i gather(const std::uint64_t* array, __m512i numbers,
                                                                            __mmask8 asked) {
  if constexpr (!kThreadSanitizer) {
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), asked, numbers, array, 8);
  }
  alignas(64) std::uint64_t number[8], element[8] = {};
  _mm512_store_si512(number, numbers);
  for (unsigned lane = 0; lane < 8; ++lane) {
    if ((asked >> lane & 1) != 0) element[lane] = penumbra_load(&array[number[lane]]);
  }
  return _mm512_load_si512(element);
}

/// Return the lower or upper halves of sixteen 64-bit words, eight in each argument.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i lower_halves(__m512i first, __m512i second) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return _mm512_permutex2var_epi32(first, even, second);
}
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i upper_halves(__m512i first, __m512i second) {
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi32(first, odd, second);
}

/// Returns the number of set bits of each 32-bit element.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i popcount(__m512i elements) {
  const __m512i of_four_bits = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i lower = _mm512_and_si512(elements, _mm512_set1_epi8(0xF));
  const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(elements, 4), _mm512_set1_epi8(0xF));
  const __m512i of_bytes =
      _mm512_add_epi8(_mm512_shuffle_epi8(of_four_bits, lower), _mm512_shuffle_epi8(of_four_bits, upper));
  return _mm512_madd_epi16(_mm512_maddubs_epi16(of_bytes, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
}

}  // namespace penumbra
