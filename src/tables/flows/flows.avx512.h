// SPDX-License-Identifier: Apache-2.0
//
// flows_lookup() for cores with AVX-512: keys go through each step together, so that all buckets are asked for before
// the first is read, and all records before the first of those. The slots of a bucket are compared at once, and so are
// the words of a key; neither is a branch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "penumbra/prefetch.h"
#include "tables/flows/flows.shader.h"

namespace penumbra::flows {

/// Of what goes through the steps together.
constexpr std::uint32_t kGroup = 64;

/// A line of eight words, each as penumbra_load_first() reads one: the core reads no line before one that is asked for
/// earlier. ThreadSanitizer does not see what an intrinsic reads; it is shown eight loads.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline __m512i line_first(const std::uint64_t* words) {
  if constexpr (!kThreadSanitizer) return _mm512_load_si512(words);
  alignas(64) std::uint64_t word[8];
  for (unsigned i = 0; i < 8; ++i) word[i] = penumbra_load_first(&words[i]);
  return _mm512_load_si512(word);
}

inline std::uint64_t other_place(const cuckoo_table_view& cuckoo, std::uint64_t digest) {
  const std::uint64_t place = digest & ((std::uint64_t{1} << cuckoo.bits) - 1);
  return place ^ cuckoo_table_jump(digest >> cuckoo.bits, cuckoo.bits);
}

/// Asks for keys that are read in order, up to a group of them. The core does so by itself, but not far enough ahead
/// where it reads much at random between them.
inline void ask_for(const flow_key* key, std::uint32_t count) {
  constexpr std::size_t kLine = 64;
  const auto* const end = reinterpret_cast<const char*>(key + std::min(count, kGroup));
  const auto* const begin = reinterpret_cast<const char*>(key);
  // From the beginning of a line on, or the last one would be missed.
  for (const char* line = begin - reinterpret_cast<std::uintptr_t>(begin) % kLine; line < end; line += kLine) {
    prefetch_line(line);
  }
}

/// The digests of keys, whose first buckets are asked for.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void make_digests(const flows_view& view,
                                                                               const flow_key* key, std::uint32_t count,
                                                                               std::uint64_t* digest) {
  const std::uint64_t places = (std::uint64_t{1} << view.cuckoo.bits) - 1;
#pragma GCC unroll 4
  for (std::uint32_t i = 0; i < count; ++i) {
    digest[i] = flows_digest(&view, &key[i]);
    prefetch_line(&view.cuckoo.bucket[digest[i] & places]);
  }
}

/// What a line of the cuckoo table holds of a tag: the value of the slot that is `wanted` but for its value, or
/// FLOWS_NO_RECORD. `most` is the highest value, in each word. An empty slot is none, although it looks like one of tag
/// 0: nothing is left of it.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t value_in(__m512i line, std::uint64_t wanted,
                                                                                    __m512i most) {
  const __m512i left = _mm512_xor_si512(line, all_lanes(wanted));
  constexpr __mmask8 kSlots = 0xFE;  // behind the marks
  const __mmask8 found =
      _mm512_mask_cmplt_epu64_mask(kSlots, _mm512_add_epi64(left, all_lanes(~std::uint64_t{0})), most);
  const __m512i value = _mm512_maskz_compress_epi64(found, left);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(value)));
}
inline std::uint64_t most_value(const cuckoo_table_view& cuckoo) {
  return (std::uint64_t{1} << cuckoo.value_bits) - 1;
}

/// What the digests' first buckets hold of them: numbers of records, which are asked for, or FLOWS_NO_RECORD. Returns
/// how many of these may be in their second buckets, which are asked for: their places are in `others`. The words of a
/// line are read in no order among them; but who finds neither a slot nor a mark, nor that somebody is elsewhere, is
/// nowhere (cuckoo.shader.h).
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t search_first(const flows_view& view,
                                                                                        const std::uint64_t* digest,
                                                                                        std::uint32_t count,
                                                                                        std::uint32_t* record,
                                                                                        std::uint32_t* others) {
  const cuckoo_table_view& cuckoo = view.cuckoo;
  const std::uint64_t places = (std::uint64_t{1} << cuckoo.bits) - 1;
  const __m512i most = all_lanes(most_value(cuckoo));
  std::uint32_t left = 0;
#pragma GCC unroll 2
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t tag = digest[i] >> cuckoo.bits;
    const __m512i line = line_first(&cuckoo.bucket[digest[i] & places].marks);
    record[i] = value_in(line, tag << 1 << cuckoo.value_bits, most);
    prefetch_line(&view.record[record[i]]);
    const auto marks = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(line)));
    const std::uint64_t elsewhere =
        marks >> CUCKOO_TABLE_ELSEWHERE_AT | cuckoo_table_hits(marks, cuckoo_table_mark(tag));
    others[left] = i;
    left += static_cast<std::uint32_t>(record[i] == FLOWS_NO_RECORD) & static_cast<std::uint32_t>(elsewhere != 0);
  }
  for (std::uint32_t k = 0; k < left; ++k) prefetch_line(&cuckoo.bucket[other_place(cuckoo, digest[others[k]])]);
  return left;
}

/// Likewise the second buckets, which have the last word unless something was moved since `moves` was read.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void search_second(const flows_view& view,
                                                                                const std::uint64_t* digest,
                                                                                const std::uint32_t* others,
                                                                                std::uint32_t left, std::uint32_t moves,
                                                                                std::uint32_t* record) {
  const cuckoo_table_view& cuckoo = view.cuckoo;
  const __m512i most = all_lanes(most_value(cuckoo));
  for (std::uint32_t k = 0; k < left; ++k) {
    const std::uint32_t i = others[k];
    const __m512i line = line_first(&cuckoo.bucket[other_place(cuckoo, digest[i])].marks);
    const std::uint64_t tag = digest[i] >> cuckoo.bits;
    record[i] = value_in(line, (tag << 1 | 1) << cuckoo.value_bits, most);
    prefetch_line(&view.record[record[i]]);
  }
  if (penumbra_load_first(cuckoo.moves) == moves) return;
  for (std::uint32_t k = 0; k < left; ++k) {
    const std::uint32_t i = others[k];
    if (record[i] == FLOWS_NO_RECORD) record[i] = cuckoo_table_find(&cuckoo, digest[i]);
  }
}

/// Leaves the records that are of other flows.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void compare_keys(const flows_view& view,
                                                                               const flow_key* key, std::uint32_t count,
                                                                               std::uint32_t* record) {
  constexpr __mmask8 kKeyWords = 0x1F;
  const __m512i of_key = _mm512_set_epi64(0, 0, 0, static_cast<long long>(~FLOWS_FLAGS_MASK), -1, -1, -1, -1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const __m512i found = line_first(view.record[record[i]].key.source);
    const __m512i sought = _mm512_maskz_loadu_epi64(kKeyWords, &key[i]);
    const unsigned different = _mm512_test_epi64_mask(_mm512_xor_si512(found, sought), of_key);
    record[i] = different == 0 ? record[i] : static_cast<std::uint32_t>(FLOWS_NO_RECORD);
  }
}

/// The shader's arguments and answers.
[[gnu::target("arch=x86-64-v4")]] inline void lookup_avx512(flows_view view, const flow_key* key, std::uint32_t* record,
                                                            std::uint32_t n) {
  std::uint64_t digest[kGroup];
  std::uint32_t others[kGroup];
  ask_for(key, n);
  while (n > 0) {
    const std::uint32_t count = std::min(n, kGroup);
    const std::uint32_t moves = penumbra_load_first(view.cuckoo.moves);
    make_digests(view, key, count, digest);
    ask_for(key + count, n - count);
    const std::uint32_t left = search_first(view, digest, count, record, others);
    search_second(view, digest, others, left, moves, record);
    compare_keys(view, key, count, record);
    key += count;
    record += count;
    n -= count;
  }
}

}  // namespace penumbra::flows
