// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of AVX-512, for functions with [[gnu::target("arch=x86-64-v4")]].
#pragma once

#include <cstdint>

#include "base/thread_sanitizer.h"
#include "penumbra/shader.h"

// GCC 12 takes the registers that its own header leaves undefined for variables that are used so.
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

/// Sixteen elements of an array, as penumbra_load_first() reads one: x86 orders what is read by way of them behind
/// them. ThreadSanitizer does not see what an intrinsic reads; it is shown sixteen loads.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i gather_first(const std::uint32_t* array,
                                                                                  __m512i numbers) {
  if constexpr (!kThreadSanitizer) return _mm512_i32gather_epi32(numbers, array, 4);
  alignas(64) std::uint32_t element[16];
  _mm512_store_si512(element, numbers);
  for (std::uint32_t& each : element) each = penumbra_load_first(&array[each]);
  return _mm512_load_si512(element);
}

}  // namespace penumbra
