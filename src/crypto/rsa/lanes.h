// SPDX-License-Identifier: Apache-2.0
//
// Eight numbers of 64 bits, one in each lane, and the products of AVX512-IFMA. With PENUMBRA_EMULATE_LANES the same
// operations work without AVX-512, so that memcheck can follow secrets through the code above them.
#pragma once

#include <cstdint>

#include "crypto/rsa/ifma.h"

#ifndef PENUMBRA_EMULATE_LANES
#include <immintrin.h>
#endif

namespace penumbra::rsa {

inline constexpr unsigned kLanes = kMostTogether;

#ifdef PENUMBRA_EMULATE_LANES

inline namespace emulated {

struct alignas(64) Lanes {
  std::uint64_t lane[kLanes];
};
/// One bit for each lane, as a number of all ones or zeros.
using LaneMask = Lanes;

template <class Function>
inline Lanes for_each_lane(Function function) {
  Lanes result;
  for (unsigned i = 0; i < kLanes; ++i) result.lane[i] = function(i);
  return result;
}

inline unsigned __int128 digit_product(std::uint64_t a, std::uint64_t b) {
  return static_cast<unsigned __int128>(a & kDigitMask) * (b & kDigitMask);
}
/// Adds the lower or upper 52 bits of the product of the lower 52 bits of `a` and `b`.
inline Lanes add_low(Lanes sum, Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) {
    return sum.lane[i] + (static_cast<std::uint64_t>(digit_product(a.lane[i], b.lane[i])) & kDigitMask);
  });
}
inline Lanes add_high(Lanes sum, Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) {
    return sum.lane[i] + static_cast<std::uint64_t>(digit_product(a.lane[i], b.lane[i]) >> kDigitBits);
  });
}
inline Lanes all_lanes(std::uint64_t value) {
  return for_each_lane([&](unsigned) { return value; });
}
inline Lanes operator+(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return a.lane[i] + b.lane[i]; });
}
inline Lanes operator-(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return a.lane[i] - b.lane[i]; });
}
inline Lanes operator&(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return a.lane[i] & b.lane[i]; });
}
inline Lanes operator|(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return a.lane[i] | b.lane[i]; });
}
inline Lanes operator^(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return a.lane[i] ^ b.lane[i]; });
}
inline Lanes shift_right(Lanes a, unsigned bits) {
  return for_each_lane([&](unsigned i) { return a.lane[i] >> bits; });
}
/// Shifts numbers with a sign to the right by the bits of a digit.
inline Lanes signed_carry(Lanes a) {
  return for_each_lane(
      [&](unsigned i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(a.lane[i]) >> kDigitBits); });
}
inline LaneMask are_equal(Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) {
    const std::uint64_t difference = a.lane[i] ^ b.lane[i];
    return ((difference | (0 - difference)) >> 63) - 1;
  });
}
/// Returns `a` in the lanes of the mask, and `b` in the others.
inline Lanes select(LaneMask mask, Lanes a, Lanes b) {
  return for_each_lane([&](unsigned i) { return (a.lane[i] & mask.lane[i]) | (b.lane[i] & ~mask.lane[i]); });
}

}  // namespace emulated

#else

using Lanes = __m512i;
using LaneMask = __mmask8;

inline Lanes add_low(Lanes sum, Lanes a, Lanes b) {
  return _mm512_madd52lo_epu64(sum, a, b);
}
inline Lanes add_high(Lanes sum, Lanes a, Lanes b) {
  return _mm512_madd52hi_epu64(sum, a, b);
}
inline Lanes all_lanes(std::uint64_t value) {
  return _mm512_set1_epi64(static_cast<long long>(value));
}
inline Lanes shift_right(Lanes a, unsigned bits) {
  // GCC 12 wrongly warns about uninitialised variables in the functions for shifts (PR 105593).
  return reinterpret_cast<Lanes>(reinterpret_cast<__v8du>(a) >> bits);
}
inline Lanes signed_carry(Lanes a) {
  return reinterpret_cast<Lanes>(reinterpret_cast<__v8di>(a) >> kDigitBits);
}
inline LaneMask are_equal(Lanes a, Lanes b) {
  return _mm512_cmpeq_epi64_mask(a, b);
}
inline Lanes select(LaneMask mask, Lanes a, Lanes b) {
  return _mm512_mask_mov_epi64(b, mask, a);
}

#endif

}  // namespace penumbra::rsa
