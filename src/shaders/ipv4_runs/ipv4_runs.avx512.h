// SPDX-License-Identifier: Apache-2.0
//
// ipv4_runs_lookup() for cores with AVX-512. Addresses go through each of the steps together, so that all their nodes
// are asked for before the first is read, and all their values before the first of those.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/avx512.h"
#include "shaders/ipv4_runs/ipv4_runs.shader.h"

namespace penumbra::ipv4_runs {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 16;

/// Where addresses are on their way.
struct Group {
  alignas(64) std::uint32_t node[kGroup];
  alignas(64) std::uint32_t after[kGroup];  ///< how many /24s of the node are behind the address's
  std::uint32_t value[kGroup];
};

/// The nodes of kLanes addresses, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_nodes(const ipv4_runs_view& view,
                                                                             const std::uint32_t* address,
                                                                             std::uint32_t at, Group& group) {
  const __m512i addresses = _mm512_loadu_si512(address);
  const __m512i last = _mm512_set1_epi32((1 << (IPV4_RUNS_NODE_SHIFT - 8)) - 1);
  _mm512_store_si512(group.node + at, _mm512_srli_epi32(addresses, IPV4_RUNS_NODE_SHIFT));
  _mm512_store_si512(group.after + at, _mm512_andnot_si512(_mm512_srli_epi32(addresses, 8), last));
  for (std::uint32_t i = at; i < at + kLanes; ++i) __builtin_prefetch(&view.nodes[group.node[i]]);
}

/// Their values, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_values(const ipv4_runs_view& view,
                                                                              std::uint32_t at, Group& group) {
#pragma GCC unroll 16
  for (std::uint32_t i = at; i < at + kLanes; ++i) {
    const std::uint64_t node = penumbra_load(&view.nodes[group.node[i]]);
    const auto starts = static_cast<std::uint32_t>(node) << group.after[i];
    group.value[i] = static_cast<std::uint32_t>(node >> 32) + static_cast<std::uint32_t>(std::popcount(starts));
    __builtin_prefetch(&view.values[group.value[i]]);
  }
}

/// Writes their values.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_answers(const ipv4_runs_view& view,
                                                                               const Group& group, std::uint32_t at,
                                                                               std::uint16_t* next_hop) {
#pragma GCC unroll 16
  for (std::uint32_t i = 0; i < kLanes; ++i) next_hop[i] = penumbra_load(&view.values[group.value[at + i]]);
}

/// Which of kLanes values are groups.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline unsigned lead_on(const std::uint16_t* next_hop) {
  const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(next_hop));
  return _mm256_cmplt_epi16_mask(values, _mm256_set1_epi16(static_cast<std::int16_t>(DIR24_8_NO_ROUTE)));
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv4_runs_view view, const std::uint32_t* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  while (n >= kLanes) {
    const std::uint32_t count = std::min(n, kGroup) / kLanes * kLanes;
    Group group;
    for (std::uint32_t at = 0; at < count; at += kLanes) find_nodes(view, address + at, at, group);
    for (std::uint32_t at = 0; at < count; at += kLanes) find_values(view, at, group);
    for (std::uint32_t at = 0; at < count; at += kLanes) find_answers(view, group, at, next_hop + at);
    // Once more through all of them, when they have been written: what is read right behind a write waits for it.
    for (std::uint32_t at = 0; at < count; at += kLanes) {
      for (unsigned left = lead_on(next_hop + at); left != 0; left &= left - 1) {
        const auto i = at + static_cast<std::uint32_t>(std::countr_zero(left));
        ipv4_runs_lookup(view, address + i, next_hop + i, 1);
      }
    }
    address += count;
    next_hop += count;
    n -= count;
  }
  if (n > 0) ipv4_runs_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::ipv4_runs
