// SPDX-License-Identifier: Apache-2.0
//
// patterns_search() for cores with AVX-512 VBMI. Most bytes of most texts begin no pattern. Shuffles of registers find
// out for 64 places at a time where the first three bytes of a pattern may be. A bitmap of 16 KiB tests the first four.
// Only there the automaton runs, until it leaves its deep states.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/avx512.h"
#include "penumbra/bytes.h"
#include "tables/patterns/patterns.shader.h"

#define PENUMBRA_PATTERNS_TARGET gnu::target("arch=x86-64-v4,avx512vbmi")

namespace penumbra::pattern_forms {

/// The filter's columns of the first bytes: a column has a bit for each bucket of patterns, by byte.
struct Columns {
  __m512i part[PATTERNS_COLUMNS][4];
};

[[gnu::always_inline, PENUMBRA_PATTERNS_TARGET]] inline Columns columns_of(const patterns_view& view) {
  Columns columns;
  for (int column = 0; column < PATTERNS_COLUMNS; ++column) {
    for (int part = 0; part < 4; ++part) {
      columns.part[column][part] = _mm512_loadu_si512(view.column + column * 256 + part * 64);
    }
  }
  return columns;
}

/// Returns the buckets of each of 64 bytes.
[[gnu::always_inline, PENUMBRA_PATTERNS_TARGET]] inline __m512i buckets(const __m512i (&part)[4], __m512i bytes) {
  const __m512i low = _mm512_permutex2var_epi8(part[0], bytes, part[1]);
  const __m512i high = _mm512_permutex2var_epi8(part[2], bytes, part[3]);
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high);
}

/// Loads the bytes of the 64 that lie before `end`; the others are 0.
[[gnu::always_inline, PENUMBRA_PATTERNS_TARGET]] inline __m512i load_before(const std::uint8_t* text,
                                                                            const std::uint8_t* end) {
  if (end - text >= 64) return _mm512_loadu_si512(text);
  return end <= text ? _mm512_setzero_si512() : _mm512_maskz_loadu_epi8((std::uint64_t{1} << (end - text)) - 1, text);
}

[[gnu::always_inline]] inline std::uint32_t bit_of(const patterns_view& view, std::uint32_t slot) {
  return view.prefix[slot / 32] >> slot % 32 & 1;
}

/// Returns a bit for each of 64 places from `text` on at which a pattern may begin.
[[gnu::always_inline, PENUMBRA_PATTERNS_TARGET]] inline std::uint64_t places(const patterns_view& view,
                                                                             const Columns& columns,
                                                                             const std::uint8_t* text,
                                                                             const std::uint8_t* end) {
  const __m512i first = buckets(columns.part[0], load_before(text, end));
  const __m512i second = buckets(columns.part[1], load_before(text + 1, end));
  const __m512i third = buckets(columns.part[2], load_before(text + 2, end));
  if (end - text < 64 + 3) return _mm512_test_epi8_mask(_mm512_and_si512(first, second), third);
  const __m512i fourth = buckets(columns.part[3], load_before(text + 3, end));
  const __m512i all = _mm512_and_si512(_mm512_and_si512(first, second), _mm512_and_si512(third, fourth));
  // No branch depends on a bit of the bitmap: few predictions would be right.
  std::uint64_t confirmed = 0;
  for (std::uint64_t rest = _mm512_test_epi8_mask(all, all); rest != 0; rest &= rest - 1) {
    const int place = std::countr_zero(rest);
    const auto bytes = load<std::uint32_t>(text + place);
    const std::uint64_t bit = bit_of(view, patterns_prefix_slot(bytes)) | bit_of(view, patterns_short_slot(bytes));
    confirmed |= bit << place;
  }
  return confirmed;
}

/// The state of a text's search.
struct Search {
  std::uint32_t state, last, at;
  std::uint32_t noted = ~0U;  ///< The set that was found last. Runs of one byte find the same set again and again.
};

/// Reads bytes until the state is shallow, and at least one. A shallow state follows from the last two bytes.
[[gnu::always_inline]] inline void run_deep(const patterns_view& view, const std::uint8_t* text, std::uint32_t length,
                                            Search& search, patterns_found& found) {
  while (search.at < length) {
    const std::uint32_t byte = text[search.at++];
    const std::uint32_t index = search.state + view.byte_class[byte];
    const patterns_move& move = view.move[index];
    const std::uint32_t pair = search.last | byte << 8;
    search.last = byte;
    if (move.check != search.state) {
      search.state = view.pair[pair];
      return;
    }
    search.state = move.next & ~PATTERNS_MATCH;
    if ((move.next & PATTERNS_MATCH) == 0 || view.found[index] == search.noted) continue;
    search.noted = view.found[index];
    patterns_note(&found, search.noted);
  }
}

[[PENUMBRA_PATTERNS_TARGET]] inline void search_one(const patterns_view& view, const Columns& columns,
                                                    const std::uint8_t* text, std::uint32_t length, Search& search,
                                                    patterns_found& found) {
  // A pattern may have begun in the text before, so the automaton reads until it is shallow within this text.
  do {
    run_deep(view, text, length, search, found);
  } while (search.at < length && search.at < 2);
  if (search.at >= length) return;
  const std::uint8_t* const end = text + length;
  std::uint32_t base = search.at - 2;
  while (base + 2 < length) {
    std::uint64_t rest = places(view, columns, text + base, end);
    while (rest != 0) {
      const std::uint32_t begin = base + static_cast<std::uint32_t>(std::countr_zero(rest));
      if (begin + 2 >= length) break;
      rest &= rest - 1;
      search.last = text[begin + 1];
      search.state = view.pair[text[begin] | search.last << 8];
      search.at = begin + 2;
      run_deep(view, text, length, search, found);
      if (search.at >= length) return;
      const std::uint32_t next = search.at - 2 - base;  // patterns that begin earlier were found
      rest = next >= 64 ? 0 : rest & ~std::uint64_t{0} << next;
    }
    base = std::max(base + 64, search.at - 2);
  }
  search.last = text[length - 1];
  search.state = view.pair[text[length - 2] | search.last << 8];
}

[[PENUMBRA_PATTERNS_TARGET]] inline void search_avx512(patterns_view view, const std::uint32_t* before,
                                                       penumbra_source source, std::uint32_t* after,
                                                       patterns_found* found, std::uint32_t n) {
  const Columns columns = columns_of(view);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint8_t* const text = source.bytes + source.position[i];
    const std::uint32_t length = source.length[i];
    found[i] = {};
    found[i].generation = view.generation;
    const bool begins = before[i] == PATTERNS_BEGIN;
    if (begins && length == 0) {
      after[i] = PATTERNS_BEGIN;
      continue;
    }
    Search search{begins ? 0 : before[i] >> 8 & 0x7FFFFF, before[i] & 0xFF, 0};
    if (begins) search = {0, text[0], 1};
    search_one(view, columns, text, length, search, found[i]);
    after[i] = search.state << 8 | search.last;
  }
}

}  // namespace penumbra::pattern_forms
