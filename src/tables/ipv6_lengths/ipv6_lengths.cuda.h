// SPDX-License-Identifier: Apache-2.0
//
// Binary search on prefix lengths (ipv6_lengths.shader.h) for a GPU. One load reads a whole slot, but the shader reads
// the key by a second load. The probe sequence is a 32-bit word, because a GPU needs two registers for 64 bits.
#pragma once

#include <cstdint>

#include "penumbra/cuda_form.h"
#include "tables/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra::ipv6_lengths {

/// Two words of memory; `first` is at the lower address.
struct Pair {
  std::uint64_t first, second;
};

/// Loads two words at a multiple of 16 bytes.
__device__ inline Pair pair_at(const void* memory) {
  const ulonglong2 both = *static_cast<const ulonglong2*>(memory);
  return {both.x, both.y};
}

/// Returns the steps to try from a state, one bit each.
__device__ inline std::uint32_t probes_of(std::uint64_t state) {
  return static_cast<std::uint32_t>(state >> IPV6_LENGTHS_PROBES_SHIFT) & 0xFF;
}

__device__ inline void lookup_by_whole_slots(ipv6_lengths_view view, const ipv6_address* address,
                                             std::uint16_t* next_hop, std::uint32_t n) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
    const std::uint64_t high = address[i].high, low = address[i].low;
    std::uint64_t best = view.base[high >> (64 - IPV6_LENGTHS_BASE_BITS)];
    std::uint64_t steps = view.steps[IPV6_LENGTHS_BASE_BITS];
    for (std::uint32_t probes = probes_of(best); probes != 0;) {
      const auto length = static_cast<std::uint32_t>(steps >> (8 * penumbra_trailing_zeros(probes)) & 0xFF);
      probes &= probes - 1;
      const std::uint64_t key = ipv6_lengths_key(high, low, length);
      const std::uint64_t code = ipv6_lengths_code(low, length);
      const std::uint64_t number = best & IPV6_LENGTHS_NUMBER;
      const std::uint64_t sought = code << IPV6_LENGTHS_CODE_SHIFT | number;
      const std::uint64_t compared =
          length == IPV6_LENGTHS_SPLIT ? IPV6_LENGTHS_CODE : IPV6_LENGTHS_CODE | IPV6_LENGTHS_NUMBER;
      const std::uint64_t first = ipv6_lengths_place(key, code, number, view.index_bits);
      Pair slot = pair_at(&view.slots[first]);
      for (std::uint32_t tries = 1; (slot.second & IPV6_LENGTHS_CODE) != 0; ++tries) {
        if ((((slot.second ^ sought) & compared) | (slot.first ^ key)) == 0) {
          best = slot.second;
          steps = view.steps[length];
          probes = probes_of(best);
          break;
        }
        slot = pair_at(&view.slots[ipv6_lengths_next(first, tries, view.index_bits)]);
      }
    }
    next_hop[i] = static_cast<std::uint16_t>(~best);
  }
}

}  // namespace penumbra::ipv6_lengths
