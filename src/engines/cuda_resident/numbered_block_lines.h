// SPDX-License-Identifier: Apache-2.0
//
// Versions of pack() and unpack() for cores with AVX-512, which access a line of four blocks at once. No manual
// guarantees atomicity above 16 bytes, but such cores access a line, or each half of it, at once. No block is therefore
// seen in part.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/avx512.h"
#include "cuda_resident/numbered_block.h"

namespace penumbra::cuda_resident {

namespace detail {

inline constexpr std::uint16_t kNumbers = 0x8888;                      ///< Words of four blocks that are numbers.
inline constexpr std::uint32_t kLineData = kBlockBytes * kLinePieces;  ///< Bytes of data in a line.

/// Returns the bytes of data from this block to the end of its line.
inline std::size_t data_to_end_of_line(const NumberedBlock* block) noexcept {
  return kBlockBytes * (kLinePieces - reinterpret_cast<std::uintptr_t>(block) / sizeof(NumberedBlock) % kLinePieces);
}
inline std::uint64_t mask_of_bytes(std::size_t bytes) noexcept {
  return (std::uint64_t{1} << bytes) - 1;
}
inline __mmask16 mask_of_blocks(std::uint32_t blocks) noexcept {
  return static_cast<__mmask16>((1U << 4 * blocks) - 1);
}

/// Packs data that end in the line of their first block.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void pack_line(NumberedBlock* to, const std::byte* from,
                                                                            __mmask64 bytes, __mmask16 words,
                                                                            __m512i number) noexcept {
  const __m512i spread = _mm512_setr_epi32(0, 1, 2, 15, 3, 4, 5, 15, 6, 7, 8, 15, 9, 10, 11, 15);
  const __m512i data = _mm512_permutexvar_epi32(spread, _mm512_maskz_loadu_epi8(bytes, from));
  _mm512_mask_storeu_epi32(to, words, _mm512_mask_mov_epi32(data, kNumbers, number));
}
/// Unpacks data that end in the line of their first block. Returns false if a block has not arrived.
[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline bool unpack_line(const NumberedBlock* from, std::byte* to,
                                                                              __mmask64 bytes, __mmask16 words,
                                                                              __m512i number) noexcept {
  const __m512i gather = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
  const __m512i blocks = _mm512_maskz_loadu_epi32(words, from);
  if (_mm512_mask_cmpneq_epi32_mask(kNumbers & words, blocks, number) != 0) return false;
  _mm512_mask_storeu_epi8(to, bytes, _mm512_permutexvar_epi32(gather, blocks));
  return true;
}

}  // namespace detail

/// See pack().
[[gnu::target("arch=x86-64-v4")]] inline NumberedBlock* pack_lines(NumberedBlock* to, const void* data,
                                                                   std::size_t bytes, std::uint32_t number) noexcept {
  const __m512i numbers = _mm512_set1_epi32(static_cast<int>(number));
  const auto* from = static_cast<const std::byte*>(data);
  const std::size_t first = detail::data_to_end_of_line(to);
  if (first < detail::kLineData && first <= bytes) {
    const auto count = static_cast<std::uint32_t>(first) / kBlockBytes;
    detail::pack_line(to, from, detail::mask_of_bytes(first), detail::mask_of_blocks(count), numbers);
    to += count;
    from += first;
    bytes -= first;
  }
  for (; bytes >= detail::kLineData; bytes -= detail::kLineData) {
    detail::pack_line(to, from, detail::mask_of_bytes(detail::kLineData), 0xFFFF, numbers);
    to += kLinePieces;
    from += detail::kLineData;
  }
  if (bytes == 0) return to;
  const std::uint32_t count = blocks_for(static_cast<std::uint32_t>(bytes));
  detail::pack_line(to, from, detail::mask_of_bytes(bytes), detail::mask_of_blocks(count), numbers);
  return to + count;
}

/// See unpack().
[[gnu::target("arch=x86-64-v4")]] inline bool unpack_lines(const NumberedBlock*& from, void* data, std::size_t bytes,
                                                           std::uint32_t number) noexcept {
  const __m512i numbers = _mm512_set1_epi32(static_cast<int>(number));
  auto* to = static_cast<std::byte*>(data);
  std::atomic_signal_fence(std::memory_order_acquire);  // Other threads or the GPU write the memory that is read below.
  const std::size_t first = detail::data_to_end_of_line(from);
  if (first < detail::kLineData && first <= bytes) {
    const auto count = static_cast<std::uint32_t>(first) / kBlockBytes;
    if (!detail::unpack_line(from, to, detail::mask_of_bytes(first), detail::mask_of_blocks(count), numbers)) {
      return false;
    }
    from += count;
    to += first;
    bytes -= first;
  }
  for (; bytes >= detail::kLineData; bytes -= detail::kLineData) {
    if (!detail::unpack_line(from, to, detail::mask_of_bytes(detail::kLineData), 0xFFFF, numbers)) return false;
    from += kLinePieces;
    to += detail::kLineData;
  }
  if (bytes == 0) return true;
  const std::uint32_t count = blocks_for(static_cast<std::uint32_t>(bytes));
  if (!detail::unpack_line(from, to, detail::mask_of_bytes(bytes), detail::mask_of_blocks(count), numbers)) {
    return false;
  }
  from += count;
  return true;
}

/// See put_first_line(); uses a single store, so that a reader that polls the line fetches it from this core once
/// instead of twice.
[[gnu::target("arch=x86-64-v4")]] inline void put_line_at_once(NumberedBlock* line, __m128i first, const void* data,
                                                               std::size_t bytes, std::uint32_t number) noexcept {
  const __m512i spread = _mm512_setr_epi32(15, 15, 15, 15, 0, 1, 2, 15, 3, 4, 5, 15, 6, 7, 8, 15);
  const __m512i loaded = _mm512_maskz_loadu_epi8(detail::mask_of_bytes(bytes), data);
  const __m512i numbers = _mm512_set1_epi32(static_cast<int>(number));
  const __m512i numbered = _mm512_mask_mov_epi32(_mm512_permutexvar_epi32(spread, loaded), detail::kNumbers, numbers);
  const __m512i whole = _mm512_inserti32x4(numbered, first, 0);
  if (bytes > kDataBehindFirst - kBlockBytes) {
    _mm512_store_si512(line, whole);
  } else {
    const std::uint32_t count = 1 + blocks_for(static_cast<std::uint32_t>(bytes));
    _mm512_mask_storeu_epi32(line, detail::mask_of_blocks(count), whole);
  }
}

/// Pack and unpack functions for this core.
struct PieceWay {
  NumberedBlock* (*pack)(NumberedBlock* to, const void* data, std::size_t bytes,
                         std::uint32_t number) noexcept = &penumbra::cuda_resident::pack;
  bool (*unpack)(const NumberedBlock*& from, void* data, std::size_t bytes,
                 std::uint32_t number) noexcept = &penumbra::cuda_resident::unpack;
  void (*put_first_line)(NumberedBlock* line, __m128i first, const void* data, std::size_t bytes,
                         std::uint32_t number) noexcept = &penumbra::cuda_resident::put_first_line;

  static PieceWay best() {
    if (PENUMBRA_SANITIZED || !__builtin_cpu_supports("x86-64-v4")) return {};
    return {&pack_lines, &unpack_lines, &put_line_at_once};
  }
};

}  // namespace penumbra::cuda_resident
