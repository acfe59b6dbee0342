// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "bench.h"

namespace penumbra::bench::gpu {

/// Duration of a rate's sample, seconds.
inline constexpr double kSampleSeconds = 0.02;

/// Returns the microseconds per call of `work`, over `calls` consecutive calls.
template <class Work>
double microseconds_each(std::uint32_t calls, Work work) {
  const double begin = now();
  for (std::uint32_t i = 0; i < calls; ++i) work();
  return (now() - begin) * 1e6 / calls;
}

}  // namespace penumbra::bench::gpu
