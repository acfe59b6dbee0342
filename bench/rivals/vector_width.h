// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <rte_vect.h>  // It lacks its own extern "C".
}

namespace penumbra::bench {

/// Raises the EAL's limit of vector width to 512 bits: DPDK's functions use AVX-512 only by permission.
inline void allow_wide_vectors() {
  if (rte_vect_get_max_simd_bitwidth() < RTE_VECT_SIMD_512) rte_vect_set_max_simd_bitwidth(RTE_VECT_SIMD_512);
}

}  // namespace penumbra::bench
