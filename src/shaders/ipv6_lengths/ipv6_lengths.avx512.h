// SPDX-License-Identifier: Apache-2.0
//
// ipv6_lengths_lookup() for cores with AVX-512: addresses probe together, so that all slots of a step are asked for
// before the first is read, and whether a probe hits is no branch. Keys are made eight at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/avx512.h"
#include "shaders/ipv6_lengths/ipv6_lengths.shader.h"

namespace penumbra::ipv6_lengths {

/// Of what goes through the steps together; a multiple of kLanes.
constexpr std::uint32_t kGroup = 64, kLanes = 8;

/// Addresses on their way, in any order: those that have a probe left come first.
struct Group {
  alignas(64) std::uint64_t rope[kGroup], high[kGroup], low[kGroup];
  alignas(64) std::uint64_t place[kGroup], key_high[kGroup], key_low[kGroup];
  const ipv6_lengths_slot* best[kGroup];
  std::uint32_t number[kGroup];  ///< in the batch
};

/// The keys of the next probes of kLanes addresses and their places, which are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void find_places(const ipv6_lengths_view& view,
                                                                              std::uint32_t at, Group& group) {
  const __m512i all = _mm512_set1_epi64(-1);
  const __m512i length = _mm512_and_si512(_mm512_load_si512(group.rope + at), _mm512_set1_epi64(0xFF));
  // A shift by 64 and more gives 0 here, also one by less than 0.
  const __m512i high = _mm512_andnot_si512(_mm512_srlv_epi64(all, length), _mm512_load_si512(group.high + at));
  const __mmask8 in_low = _mm512_cmpgt_epu64_mask(length, _mm512_set1_epi64(64));
  const __m512i low_mask = _mm512_sllv_epi64(all, _mm512_sub_epi64(_mm512_set1_epi64(128), length));
  const __m512i low = _mm512_maskz_and_epi64(in_low, low_mask, _mm512_load_si512(group.low + at));
  // ipv6_lengths_place()
  __m512i bits = _mm512_mullo_epi64(low, _mm512_set1_epi64(static_cast<long long>(IPV6_LENGTHS_LOW_FACTOR)));
  bits = _mm512_add_epi64(_mm512_add_epi64(high, bits), length);
  bits = _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 32));
  bits = _mm512_mullo_epi64(bits, _mm512_set1_epi64(static_cast<long long>(IPV6_LENGTHS_FACTOR)));
  _mm512_store_si512(group.place + at, _mm512_srlv_epi64(bits, _mm512_set1_epi64(64 - view.index_bits)));
  _mm512_store_si512(group.key_high + at, high);
  _mm512_store_si512(group.key_low + at, low);
}

/// Whether the slot has the key, as the shader has it.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline bool holds(const ipv6_lengths_slot& slot,
                                                                        std::uint32_t held, std::uint64_t length,
                                                                        const Group& group, std::uint32_t at) {
  const std::uint64_t other = (held ^ length) | (penumbra_load(&slot.high) ^ group.key_high[at]) |
                              (penumbra_load(&slot.low) ^ group.key_low[at]);
  return other == 0;
}

/// Probes for the first `count` of the group; how many have a probe left, which come first then. Writes the answers of
/// the others.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t probe(const ipv6_lengths_view& view,
                                                                                 std::uint32_t count, Group& group,
                                                                                 std::uint16_t* next_hop) {
  const std::uint64_t last_place = (std::uint64_t{1} << view.index_bits) - 1;
  std::uint32_t left = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t length = group.rope[i] & 0xFF;
    const ipv6_lengths_slot* slot = &view.slots[group.place[i]];
    std::uint32_t held = static_cast<std::uint32_t>(penumbra_load_first(&slot->state) >> 16) & 0xFF;
    bool found = holds(*slot, held, length, group, i);
    if (!found && held != 0) [[unlikely]] {
      for (std::uint64_t place = group.place[i]; !found && held != 0;) {
        place = (place + 1) & last_place;
        slot = &view.slots[place];
        held = static_cast<std::uint32_t>(penumbra_load_first(&slot->state) >> 16) & 0xFF;
        found = holds(*slot, held, length, group, i);
      }
    }
    const std::uint64_t longer = penumbra_load(&slot->rope);
    const std::uint64_t rope = found ? longer : group.rope[i] >> 8;
    const ipv6_lengths_slot* const best = found ? slot : group.best[i];
    // Read last, as in the shader: it may have changed since the search came by. Of one that goes on it is written
    // anew.
    next_hop[group.number[i]] = static_cast<std::uint16_t>(~penumbra_load(&best->state));
    group.rope[left] = rope;
    group.high[left] = group.high[i];
    group.low[left] = group.low[i];
    group.best[left] = best;
    group.number[left] = group.number[i];
    left += rope != 0 ? 1 : 0;
  }
  return left;
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(ipv6_lengths_view view, const ipv6_address* address,
                                                            std::uint16_t* next_hop, std::uint32_t n) {
  while (n > 0) {
    const std::uint32_t count = std::min(n, kGroup);
    Group group;
    std::uint32_t left = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const ipv6_lengths_slot* const base = &view.base[address[i].high >> (64 - IPV6_LENGTHS_BASE_BITS)];
      const std::uint64_t rope = penumbra_load(&base->rope);
      next_hop[i] = static_cast<std::uint16_t>(~penumbra_load(&base->state));
      group.rope[left] = rope;
      group.high[left] = address[i].high;
      group.low[left] = address[i].low;
      group.best[left] = base;
      group.number[left] = i;
      left += rope != 0 ? 1 : 0;
    }
    while (left > 0) {
      for (std::uint32_t at = 0; at < left; at += kLanes) find_places(view, at, group);
      for (std::uint32_t i = 0; i < left; ++i) __builtin_prefetch(&view.slots[group.place[i]]);
      left = probe(view, left, group, next_hop);
    }
    address += count;
    next_hop += count;
    n -= count;
  }
}

}  // namespace penumbra::ipv6_lengths
