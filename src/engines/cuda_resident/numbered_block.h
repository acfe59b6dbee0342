// SPDX-License-Identifier: Apache-2.0
//
// Writes and reads numbered blocks on the CPU. An aligned access of 16 bytes is atomic on a CPU with AVX.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/sanitizer_scale.h"
#include "cuda_resident/layout.h"

namespace penumbra::cuda_resident {

#if PENUMBRA_SANITIZED
// ThreadSanitizer knows no access of 16 bytes, so the half with the number is written last and read first.
inline void store_block(NumberedBlock& block, __m128i value) noexcept {
  auto* const halves = reinterpret_cast<std::uint64_t*>(&block);
  __atomic_store_n(halves, static_cast<std::uint64_t>(_mm_extract_epi64(value, 0)), __ATOMIC_RELAXED);
  __atomic_store_n(halves + 1, static_cast<std::uint64_t>(_mm_extract_epi64(value, 1)), __ATOMIC_RELEASE);
}
inline __m128i load_block(const NumberedBlock& block) noexcept {
  const auto* const halves = reinterpret_cast<const std::uint64_t*>(&block);
  const std::uint64_t second = __atomic_load_n(halves + 1, __ATOMIC_ACQUIRE);
  const std::uint64_t first = __atomic_load_n(halves, __ATOMIC_RELAXED);
  return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
}
#else
inline void store_block(NumberedBlock& block, __m128i value) noexcept {
  *reinterpret_cast<volatile __m128i*>(&block) = value;
}
inline __m128i load_block(const NumberedBlock& block) noexcept {
  return *reinterpret_cast<const volatile __m128i*>(&block);
}
#endif

inline std::uint32_t number_of(__m128i block) noexcept {
  return static_cast<std::uint32_t>(_mm_extract_epi32(block, 3));
}
/// Returns the number of a block that another thread or the GPU writes.
inline std::uint32_t number_in(const NumberedBlock& block) noexcept {
  return number_of(load_block(block));
}

namespace detail {

inline __m128i load_bytes(const std::byte* from) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
/// Returns the last `bytes` bytes of a vector, up to 16, as its first bytes, followed by zeros.
inline __m128i last_bytes(__m128i vector, std::size_t bytes) noexcept {
  alignas(32) static constexpr std::array<std::int8_t, 32> kOrder{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                                  11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1,
                                                                  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const auto* const order = reinterpret_cast<const std::byte*>(kOrder.data());
  return _mm_shuffle_epi8(vector, load_bytes(order + sizeof(NumberedBlock) - bytes));
}

/// Stores the vector's first `bytes` bytes, fewer than 16; returns the end of the stored bytes.
inline std::byte* store_bytes(std::byte* to, __m128i vector, std::size_t bytes) noexcept {
  auto rest = static_cast<std::uint64_t>(_mm_extract_epi64(vector, 0));
  const auto store = [&](auto part) {
    std::memcpy(to, &part, sizeof part);
    to += sizeof part;
    rest >>= 8 * sizeof part % 64;
  };
  if ((bytes & 8) != 0) {
    store(rest);
    rest = static_cast<std::uint64_t>(_mm_extract_epi64(vector, 1));
  }
  if ((bytes & 4) != 0) store(static_cast<std::uint32_t>(rest));
  if ((bytes & 2) != 0) store(static_cast<std::uint16_t>(rest));
  if ((bytes & 1) != 0) store(static_cast<std::uint8_t>(rest));
  return to;
}

}  // namespace detail

/// Writes `bytes` bytes into the blocks from `to` on; returns the block after them.
inline NumberedBlock* pack(NumberedBlock* to, const void* data, std::size_t bytes, std::uint32_t number) noexcept {
  const auto* from = static_cast<const std::byte*>(data);
  const std::byte* const end = from + bytes;
  const auto put = [&](__m128i vector) {
    store_block(*to++, _mm_insert_epi32(vector, static_cast<int>(number), 3));
    from += kBlockBytes;
  };
  while (from + sizeof(NumberedBlock) <= end) put(detail::load_bytes(from));
  if (from >= end) return to;
  __m128i last;
  if (bytes >= sizeof(NumberedBlock)) {
    last = detail::last_bytes(detail::load_bytes(end - sizeof(NumberedBlock)), static_cast<std::size_t>(end - from));
  } else {
    std::array<std::byte, sizeof(NumberedBlock)> few{};
    std::memcpy(few.data(), from, bytes);
    last = detail::load_bytes(few.data());
  }
  put(last);
  if (from < end) put(_mm_srli_si128(last, kBlockBytes));
  return to;
}

/// Writes the first block of a line, and `bytes` bytes of data after it, which must fit into the line.
inline void put_first_line(NumberedBlock* line, __m128i first, const void* data, std::size_t bytes,
                           std::uint32_t number) noexcept {
  pack(line + 1, data, bytes, number);
  store_block(*line, first);
}

/// Reads `bytes` bytes from the blocks from `from` on, and moves `from` past them. Returns false if a block has not
/// arrived; `data` may then be partly written.
inline bool unpack(const NumberedBlock*& from, void* data, std::size_t bytes, std::uint32_t number) noexcept {
  auto* to = static_cast<std::byte*>(data);
  std::byte* const end = to + bytes;
  for (; to + sizeof(NumberedBlock) <= end; to += kBlockBytes) {
    const __m128i block = load_block(*from++);
    if (number_of(block) != number) return false;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     block);  // Writes 4 bytes too many; the next block overwrites them.
  }
  while (to < end) {
    const __m128i block = load_block(*from++);
    if (number_of(block) != number) return false;
    to = detail::store_bytes(to, block, std::min<std::size_t>(static_cast<std::size_t>(end - to), kBlockBytes));
  }
  return true;
}

}  // namespace penumbra::cuda_resident
