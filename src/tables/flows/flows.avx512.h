// SPDX-License-Identifier: Apache-2.0
//
// flows_lookup() for cores with AVX-512. A group of keys passes each step together. All buckets are prefetched before
// the first is read, and so are all records. The slots of a bucket are compared at once, without branches, and so are
// the words of a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "penumbra/prefetch.h"
#include "tables/flows/flows.shader.h"

namespace penumbra::flows {

/// Number of keys that pass the steps together.
constexpr std::uint32_t kGroup = 64;

/// Loads a line of eight words, each like penumbra_load_first(): the core loads no line before a line that was
/// requested earlier. ThreadSanitizer does not see the loads of an intrinsic, so it gets eight plain loads.
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

/// Prefetches up to kGroup keys that are read in order. The hardware prefetcher does not look far enough ahead among
/// many random accesses.
inline void ask_for(const flow_key* key, std::uint32_t count) {
  constexpr std::size_t kLine = 64;
  const auto* const end = reinterpret_cast<const char*>(key + std::min(count, kGroup));
  const auto* const begin = reinterpret_cast<const char*>(key);
  // The loop starts at the beginning of a line, or it would miss the last line.
  for (const char* line = begin - reinterpret_cast<std::uintptr_t>(begin) % kLine; line < end; line += kLine) {
    prefetch_line(line);
  }
}

/// Computes the digests of keys and prefetches their first buckets.
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

/// Returns the value of the slot of a cuckoo line that equals `wanted` in all bits but the value, or FLOWS_NO_RECORD.
/// `most` has the highest value in each word. An empty slot with tag 0 leaves the value 0, which is not a hit.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint32_t value_in(__m512i line, std::uint64_t wanted,
                                                                                    __m512i most) {
  const __m512i left = _mm512_xor_si512(line, all_lanes(wanted));
  constexpr __mmask8 kSlots = 0xFE;  // all words after the marks
  const __mmask8 found =
      _mm512_mask_cmplt_epu64_mask(kSlots, _mm512_add_epi64(left, all_lanes(~std::uint64_t{0})), most);
  const __m512i value = _mm512_maskz_compress_epi64(found, left);
  return static_cast<std::uint32_t>(_mm_cvtsi128_si64(_mm512_castsi512_si128(value)));
}
inline std::uint64_t most_value(const cuckoo_table_view& cuckoo) {
  return (std::uint64_t{1} << cuckoo.value_bits) - 1;
}

/// Searches the first buckets of the digests. Writes and prefetches the numbers of the records, or FLOWS_NO_RECORD.
/// Returns the number of digests that may be in their second buckets, prefetches those buckets, and writes the indices
/// of the digests to `others`. The words of a line are read in no particular order. A digest with neither slot nor mark
/// nor a count of displaced digests is nowhere (cuckoo.shader.h).
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

/// Searches the second buckets in the same way. A miss is final unless the owner moved a digest since `moves` was read.
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

/// Replaces records of other flows by FLOWS_NO_RECORD.
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

/// Has the arguments and results of the shader.
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
