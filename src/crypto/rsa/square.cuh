// SPDX-License-Identifier: Apache-2.0
//
// Montgomery squares. One lane alone makes about half of the products of words, because the others are equal to those.
#pragma once

#include <cstdint>

#include "crypto/rsa/limbs.cuh"

namespace penumbra::rsa::gpu {

/// A number in shared memory whose words are `stride` words apart, so that neighbouring groups use different banks.
struct Column {
  std::uint32_t* words;
  unsigned stride;
  PENUMBRA_LANE std::uint32_t operator()(unsigned i) const { return words[i * stride]; }
};

/// Stores this lane's words of a number. The other lanes see them after sync().
template <unsigned kWords>
PENUMBRA_LANE void store(const Column& column, unsigned first, const std::uint32_t (&words)[kWords]) {
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) column.words[(first + i) * column.stride] = words[i];
}
template <unsigned kWords>
PENUMBRA_LANE void load(std::uint32_t (&words)[kWords], const Column& column, unsigned first) {
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) words[i] = column.words[(first + i) * column.stride];
}

/// Adds the products of every second word in [first, last) with `factor`. `sums` points to the place of the first one.
/// Adds the carry to the word above the last product.
PENUMBRA_LANE void add_row(std::uint32_t* sums, const std::uint32_t* words, std::uint32_t factor, unsigned first,
                           unsigned last) {
  if (first >= last) return;
  sums[0] = low_set(words[first], factor, sums[0]);
  sums[1] = high_through(words[first], factor, sums[1]);
  unsigned at = 2;
  PENUMBRA_UNROLL
  for (unsigned j = first + 2; j < last; j += 2) {
    sums[at] = low_through(words[j], factor, sums[at]);
    sums[at + 1] = high_through(words[j], factor, sums[at + 1]);
    at += 2;
  }
  sums[at] = add_end(sums[at], 0);
}

/// Sets wide = words^2.
template <unsigned kWords>
PENUMBRA_LANE void square_words(std::uint32_t (&wide)[2 * kWords], const std::uint32_t (&words)[kWords]) {
  // The accumulators of products at even and odd places. Products of different words are added once, then doubled.
  std::uint32_t even[2 * kWords + 2], odd[2 * kWords + 2];
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < 2 * kWords + 2; ++i) even[i] = odd[i] = 0;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i + 1 < kWords; ++i) {
    add_row(odd + 2 * i + 1, words, words[i], i + 1, kWords);
    add_row(even + 2 * i + 2, words, words[i], i + 2, kWords);
  }
  even[1] = add_set(even[1], odd[1]);
  PENUMBRA_UNROLL
  for (unsigned i = 2; i < 2 * kWords; ++i) even[i] = add_through(even[i], odd[i]);
  PENUMBRA_UNROLL
  for (unsigned i = 2 * kWords - 1; i > 0; --i) wide[i] = even[i] << 1 | even[i - 1] >> 31;
  wide[0] = 0;
  wide[0] = low_set(words[0], words[0], wide[0]);
  wide[1] = high_through(words[0], words[0], wide[1]);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) {
    wide[2 * i] = low_through(words[i], words[i], wide[2 * i]);
    wide[2 * i + 1] = high_through(words[i], words[i], wide[2 * i + 1]);
  }
}

/// Sets result = a * a / R mod modulus. `column` is memory of the group; one lane alone needs none.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void square(const Lane& lane, std::uint32_t (&result)[kWords], const std::uint32_t (&a)[kWords],
                          const Column& column, const Modulus<kWords>& modulus) {
  if constexpr (kLanes == 1) {
    std::uint32_t wide[2 * kWords], low[kWords], high[kWords];
    square_words(wide, a);
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < kWords; ++i) {
      low[i] = wide[i];
      high[i] = wide[kWords + i];
    }
    reduce<1>(lane, result, low, high, modulus);
  } else {
    lane.sync();
    store(column, place_of<kLanes>(lane) * kWords, a);
    lane.sync();
    multiply<kLanes>(lane, result, a, column, modulus);
  }
}

}  // namespace penumbra::rsa::gpu
