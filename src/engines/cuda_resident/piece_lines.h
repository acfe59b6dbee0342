// SPDX-License-Identifier: Apache-2.0
//
// write_pieces() and read_pieces() for cores with AVX-512: a line of four pieces is one access. Such cores write and
// read the bytes of a line at once, or its halves: no manual promises it of more than 16 bytes, but no core takes less
// at a time. So no piece is seen in part.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/avx512.h"
#include "cuda_resident/piece.h"

namespace penumbra::cuda_resident {

namespace detail {

inline constexpr std::uint16_t kNumbers = 0x8888;  ///< the words of a line's pieces that are numbers

/// Of a line, the words of so many pieces from this one on.
inline __mmask16 words_of_pieces(std::uint32_t first, std::uint32_t count) noexcept {
  return static_cast<__mmask16>(((1U << 4 * count) - 1) << 4 * first);
}
inline __mmask64 mask_of_bytes(std::size_t bytes) noexcept {
  return (std::uint64_t{1} << bytes) - 1;
}
/// Of so many bytes, what fits into a line from this piece on.
inline std::size_t in_line(std::size_t bytes, std::uint32_t piece) noexcept {
  return std::min<std::size_t>(bytes, kPieceBytes * (kLinePieces - piece));
}

[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline void store_line(Piece* to, __m512i line,
                                                                             Storing storing) noexcept {
  if (storing == Storing::past_cache) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), line);
  } else {
    _mm512_store_si512(to, line);
  }
}

}  // namespace detail

/// As write_pieces().
[[gnu::target("arch=x86-64-v4")]] inline void write_lines(Piece* to, __m128i head, std::span<const Section> sections,
                                                          std::uint32_t number, Storing storing) noexcept {
  const __m512i numbers = _mm512_set1_epi32(static_cast<int>(number));
  __m512i line = _mm512_inserti32x4(numbers, _mm_insert_epi32(head, static_cast<int>(number), 3), 0);
  std::uint32_t held = 1;  // pieces
  for (const Section& section : sections) {
    const std::byte* from = section.data;
    for (std::size_t left = section.bytes; left > 0;) {
      const std::size_t bytes = detail::in_line(left, held);
      const auto data = static_cast<__mmask16>(detail::words_of_pieces(held, kLinePieces - held) & ~detail::kNumbers);
      line = _mm512_mask_expand_epi32(line, data, _mm512_maskz_loadu_epi8(detail::mask_of_bytes(bytes), from));
      from += bytes;
      left -= bytes;
      held += pieces_for(static_cast<std::uint32_t>(bytes));
      if (held < kLinePieces) continue;
      detail::store_line(to, line, storing);
      to += kLinePieces;
      line = numbers;
      held = 0;
    }
  }
  if (held > 0) detail::store_line(to, line, storing);
}

/// As read_pieces().
[[gnu::target("arch=x86-64-v4")]] inline bool read_lines(const Piece* from, std::span<const Destination> sections,
                                                         std::uint32_t number) noexcept {
  const __m512i numbers = _mm512_set1_epi32(static_cast<int>(number));
  std::atomic_signal_fence(std::memory_order_acquire);  // others write what is read here
  __m512i line = _mm512_setzero_si512();
  std::uint32_t taken = kLinePieces;  // of the line
  for (const Destination& section : sections) {
    std::byte* to = section.data;
    for (std::size_t left = section.bytes; left > 0;) {
      if (taken == kLinePieces) {
        line = _mm512_load_si512(from);
        from += kLinePieces;
        taken = 0;
      }
      const std::size_t bytes = detail::in_line(left, taken);
      const std::uint32_t pieces = pieces_for(static_cast<std::uint32_t>(bytes));
      const __mmask16 words = detail::words_of_pieces(taken, pieces);
      if (_mm512_mask_cmpneq_epi32_mask(words & detail::kNumbers, line, numbers) != 0) return false;
      _mm512_mask_storeu_epi8(to, detail::mask_of_bytes(bytes),
                              _mm512_maskz_compress_epi32(words & ~detail::kNumbers, line));
      to += bytes;
      left -= bytes;
      taken += pieces;
    }
  }
  return true;
}

/// How this core writes and reads pieces.
struct PieceWay {
  void (*write)(Piece* to, __m128i head, std::span<const Section> sections, std::uint32_t number,
                Storing storing) noexcept = &write_pieces;
  bool (*read)(const Piece* from, std::span<const Destination> sections, std::uint32_t number) noexcept = &read_pieces;

  static PieceWay best() {
    if (PENUMBRA_SANITIZED || !__builtin_cpu_supports("x86-64-v4")) return {};
    return {&write_lines, &read_lines};
  }
};

}  // namespace penumbra::cuda_resident
