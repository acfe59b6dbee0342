// SPDX-License-Identifier: Apache-2.0
//
// ipv4_runs_lookup() for cores with AVX-512. Blocks of sixteen addresses take each step together in registers. No
// gather then waits for an earlier gather, and no load follows a store to the same address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "tables/dir24_8/dir24_8.avx512.h"
#include "tables/ipv4_runs/ipv4_runs.shader.h"

namespace penumbra::ipv4_runs {

constexpr std::uint32_t kLanes = dir24_8::kLanes;
constexpr std::size_t kMostBlocks = 4;  ///< more blocks do not fit into the registers

/// The halves of nodes by lane: the bits where runs start, and the index of the runs' values.
struct Nodes {
  __m512i starts;
  __m512i first;
};

/// Returns the nodes of the `asked` lanes by their numbers. Lanes that are not asked have 0.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline Nodes gather_nodes(const std::uint64_t* nodes,
                                                                                __m512i number, __mmask16 asked) {
  __m512i lower = _mm512_setzero_si512(), upper = lower;
  if constexpr (kThreadSanitizer) {  // ThreadSanitizer does not see the loads of an intrinsic.
    alignas(64) std::uint32_t at[kLanes];
    alignas(64) std::uint64_t node[kLanes] = {};
    _mm512_store_si512(at, number);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((asked >> lane & 1) != 0) node[lane] = penumbra_load(&nodes[at[lane]]);
    }
    lower = _mm512_load_si512(node);
    upper = _mm512_load_si512(node + kLanes / 2);
  } else {
    const auto asked_above = static_cast<__mmask8>(asked >> 8);
    lower = _mm512_mask_i32gather_epi64(lower, static_cast<__mmask8>(asked), _mm512_castsi512_si256(number), nodes, 8);
    upper = _mm512_mask_i32gather_epi64(upper, asked_above, _mm512_extracti64x4_epi64(number, 1), nodes, 8);
  }
  return {lower_halves(lower, upper), upper_halves(lower, upper)};
}

/// Writes the answers of `kBlocks` times kLanes addresses.
template <std::size_t kBlocks>
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void lookup_blocks(const ipv4_runs_view& view,
                                                                                const std::uint32_t* address,
                                                                                std::uint16_t* next_hop) {
  const __m512i lines = _mm512_set1_epi32(IPV4_RUNS_LINES);
  const __m512i last_node = _mm512_set1_epi32(IPV4_RUNS_NODES_OF_A_LINE - 1);
  const __m512i last_slash24 = _mm512_set1_epi32((1 << (IPV4_RUNS_NODE_SHIFT - 8)) - 1);
  __m512i element[kBlocks], node[kBlocks], value[kBlocks];
  __mmask16 lead_on[kBlocks];
#pragma GCC unroll 4
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const __m512i addresses = _mm512_loadu_si512(address + block * kLanes);
    element[block] = gather_first(view.root, _mm512_srli_epi32(addresses, IPV4_RUNS_ROOT_SHIFT));
    lead_on[block] = _mm512_cmpge_epu32_mask(element[block], lines);
    const __m512i line = _mm512_sub_epi32(element[block], lines);
    node[block] = _mm512_add_epi32(_mm512_slli_epi32(line, IPV4_RUNS_ROOT_SHIFT - IPV4_RUNS_NODE_SHIFT),
                                   _mm512_and_si512(_mm512_srli_epi32(addresses, IPV4_RUNS_NODE_SHIFT), last_node));
  }
#pragma GCC unroll 4
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const __m512i addresses = _mm512_loadu_si512(address + block * kLanes);
    const __m512i behind = _mm512_andnot_si512(_mm512_srli_epi32(addresses, 8), last_slash24);
    const Nodes nodes = gather_nodes(view.nodes, node[block], lead_on[block]);
    value[block] = _mm512_add_epi32(nodes.first, popcount(_mm512_sllv_epi32(nodes.starts, behind)));
  }
#pragma GCC unroll 4
  for (std::size_t block = 0; block < kBlocks; ++block) {
    const __m512i entry = dir24_8::gather_entries(view.values, value[block], lead_on[block], element[block]);
    const __m512i answer = dir24_8::follow_groups(view.tbl8, entry, _mm512_loadu_si512(address + block * kLanes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(next_hop + block * kLanes), _mm512_cvtepi32_epi16(answer));
  }
}

/// Has the arguments and results of the shader.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv4_runs_view view, const std::uint32_t* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  constexpr std::uint32_t kMost = kMostBlocks * kLanes, kTwoBlocks = 2 * kLanes;
  for (; n >= kMost; n -= kMost, address += kMost, next_hop += kMost) {
    lookup_blocks<kMostBlocks>(view, address, next_hop);
  }
  for (; n >= kTwoBlocks; n -= kTwoBlocks, address += kTwoBlocks, next_hop += kTwoBlocks)
    lookup_blocks<2>(view, address, next_hop);
  for (; n >= kLanes; n -= kLanes, address += kLanes, next_hop += kLanes) lookup_blocks<1>(view, address, next_hop);
  if (n > 0) ipv4_runs_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::ipv4_runs
