// SPDX-License-Identifier: Apache-2.0
//
// This file is compiled for AVX512-IFMA.
#include "ifma_rate.h"

#include <immintrin.h>

#include "bench.h"
#include "lookup_contender.h"

namespace penumbra::bench {

double ifma_per_second() {
  constexpr unsigned kChains = 12, kTimes = 20'000, kSamples = 20;
  __m512i sums[kChains];
  for (unsigned i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi64(i);
  const __m512i factor = _mm512_set1_epi64(0x123456789);
  double best = 0;
  for (unsigned sample = 0; sample < kSamples; ++sample) {
    const double begin = thread_time();
    for (unsigned time = 0; time < kTimes; ++time) {
#pragma GCC unroll 12
      for (__m512i& sum : sums) sum = _mm512_madd52lo_epu64(sum, factor, factor);
    }
    const double rate = kChains * kTimes / (thread_time() - begin);
    if (rate > best) best = rate;
  }
  keep(&sums);
  return best;
}

}  // namespace penumbra::bench
