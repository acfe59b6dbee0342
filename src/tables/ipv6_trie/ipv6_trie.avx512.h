// SPDX-License-Identifier: Apache-2.0
//
// ipv6_trie_lookup() for cores with AVX-512. Gathers the entries of sixteen addresses at once, then the next entries of
// addresses with a node, until no entry is a node. Groups of addresses pass each level together, so that more loads
// overlap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "tables/ipv6_trie/ipv6_trie.shader.h"

namespace penumbra::ipv6_trie {

constexpr std::uint32_t kLanes = 16;
/// Maximum number of addresses that pass the levels together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64;

/// Returns a quarter of each of kLanes addresses. Quarter 0 has the leading bits.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i quarters(const ipv6_address* address,
                                                                              unsigned quarter) {
  static_assert(sizeof(ipv6_address) == 16);
  const __m512i of_eight = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
  // The leading bits of a half are in its second word.
  const __m512i word = _mm512_add_epi32(of_eight, _mm512_set1_epi32(static_cast<int>(quarter ^ 1)));
  const __m512i first = _mm512_permutex2var_epi32(_mm512_loadu_si512(address), word, _mm512_loadu_si512(address + 4));
  const __m512i second =
      _mm512_permutex2var_epi32(_mm512_loadu_si512(address + 8), word, _mm512_loadu_si512(address + 12));
  return _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1);
}

/// Returns the mask of the entries that are nodes.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __mmask16 lead_on(__m512i entries) {
  static_assert(IPV6_TRIE_NODE == 1U << 31);
  return _mm512_movepi32_mask(entries);
}

/// Writes the answers of `kBlocks` times kLanes addresses.
template <std::size_t kBlocks>
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_answers(const ipv6_trie_view& view,
                                                                               const ipv6_address* address,
                                                                               std::uint16_t* next_hop) {
  static_assert(IPV6_TRIE_ROOT_BITS == 24 && IPV6_TRIE_NODE_BITS == 8);
  constexpr __mmask16 kAll = 0xFFFF;
  __m512i rest[kBlocks];  // remaining bits of the current quarters, in the upper bits
  __m512i entry[kBlocks];
  __m512i all_entries = _mm512_setzero_si512();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const __m512i quarter = quarters(address + i * kLanes, 0);
    rest[i] = _mm512_slli_epi32(quarter, 24);
    entry[i] = gather(view.entries, _mm512_srli_epi32(quarter, 8), kAll, _mm512_setzero_si512());
    all_entries = _mm512_or_si512(all_entries, entry[i]);
  }
  for (unsigned byte = 3; lead_on(all_entries) != 0; ++byte) {
    all_entries = _mm512_setzero_si512();
    for (std::size_t i = 0; i < kBlocks; ++i) {
      if (byte % 4 == 0) rest[i] = quarters(address + i * kLanes, byte / 4);
      // The shift removes IPV6_TRIE_NODE.
      const __m512i number = _mm512_or_si512(_mm512_slli_epi32(entry[i], 8), _mm512_srli_epi32(rest[i], 24));
      rest[i] = _mm512_slli_epi32(rest[i], 8);
      entry[i] = gather(view.entries, number, lead_on(entry[i]), entry[i]);
      all_entries = _mm512_or_si512(all_entries, entry[i]);
    }
  }
  for (std::size_t i = 0; i < kBlocks; ++i) {
    const __m512i inverted = _mm512_xor_si512(entry[i], _mm512_set1_epi32(-1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(next_hop + i * kLanes), _mm512_cvtepi32_epi16(inverted));
  }
}

/// Has the arguments and results of the shader.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_trie_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  for (; n >= kGroup; n -= kGroup, address += kGroup, next_hop += kGroup) {
    find_answers<kGroup / kLanes>(view, address, next_hop);
  }
  constexpr std::uint32_t kTwoBlocks = 2 * kLanes;
  for (; n >= kTwoBlocks; n -= kTwoBlocks, address += kTwoBlocks, next_hop += kTwoBlocks) {
    find_answers<2>(view, address, next_hop);
  }
  for (; n >= kLanes; n -= kLanes, address += kLanes, next_hop += kLanes) find_answers<1>(view, address, next_hop);
  if (n > 0) ipv6_trie_lookup(view, address, next_hop, n);
}

}  // namespace penumbra::ipv6_trie
