// SPDX-License-Identifier: Apache-2.0
//
// Long numbers of eight lanes as digits of 52 bits, least significant first. A number has `blocks` blocks of ten
// digits. The sums of products are made block by block, so that all operands of a block stay in registers.
//
// Montgomery products are not fully reduced. With R = 2^(520 * blocks) and factors less than four times the modulus,
// the result is less than twice the modulus, because R is at least 2^16 times the modulus.
#pragma once

#include <cstddef>
#include <utility>

#include "crypto/rsa/lanes.h"

namespace penumbra::rsa {

inline constexpr std::size_t kBlock = 10;
inline constexpr std::size_t kMostHalfBlocks = 4, kMostBlocks = 2 * kMostHalfBlocks;
inline constexpr std::size_t kMostHalfDigits = kMostHalfBlocks * kBlock, kMostDigits = kMostBlocks * kBlock;

/// A modulus in each lane.
struct LaneModulus {
  Lanes digits[kMostDigits];
  Lanes inverse;  ///< -1 / modulus mod 2^52
  unsigned blocks;
};

namespace digits_detail {

template <std::size_t... kIndices, class Function>
[[gnu::always_inline]] inline void repeat(Function function, std::index_sequence<kIndices...>) {
  (function(std::integral_constant<unsigned, kIndices>{}), ...);
}
/// Calls the function with the constants from 0 to kCount - 1. The loop is unrolled, so that arrays become registers.
template <std::size_t kCount, class Function>
[[gnu::always_inline]] inline void repeat(Function function) {
  repeat(function, std::make_index_sequence<kCount>{});
}

}  // namespace digits_detail

/// Adds the product of two blocks to 20 sums, of which the first kSet are set before.
template <std::size_t kSet>
[[gnu::noinline]] inline void add_product(Lanes* sums, const Lanes* a, const Lanes* b) {
  Lanes sum[2 * kBlock], factor[kBlock];
  digits_detail::repeat<kBlock>([&](auto i) { factor[i] = a[i]; });
  digits_detail::repeat<2 * kBlock>([&](auto i) { sum[i] = i < kSet ? sums[i] : all_lanes(0); });
  digits_detail::repeat<kBlock>([&](auto j) {
    const Lanes other = b[j];
    digits_detail::repeat<kBlock>([&](auto i) { sum[i + j] = add_low(sum[i + j], factor[i], other); });
    digits_detail::repeat<kBlock>([&](auto i) { sum[i + j + 1] = add_high(sum[i + j + 1], factor[i], other); });
  });
  digits_detail::repeat<2 * kBlock>([&](auto i) { sums[i] = sum[i]; });
}

/// Sets 20 sums to the products of different digits of a block, each once.
[[gnu::noinline]] inline void set_mixed_products(Lanes* sums, const Lanes* a) {
  Lanes sum[2 * kBlock], factor[kBlock];
  digits_detail::repeat<kBlock>([&](auto i) { factor[i] = a[i]; });
  digits_detail::repeat<2 * kBlock>([&](auto i) { sum[i] = all_lanes(0); });
  digits_detail::repeat<kBlock>([&](auto j) {
    digits_detail::repeat<kBlock>([&](auto i) {
      if constexpr (i > j) sum[i + j] = add_low(sum[i + j], factor[i], factor[j]);
    });
    digits_detail::repeat<kBlock>([&](auto i) {
      if constexpr (i > j) sum[i + j + 1] = add_high(sum[i + j + 1], factor[i], factor[j]);
    });
  });
  digits_detail::repeat<2 * kBlock>([&](auto i) { sums[i] = sum[i]; });
}

/// Adds multiples of the lowest block of a modulus to 20 sums, such that the lower ten become multiples of 2^52 that
/// are carried on. Writes the ten factors.
[[gnu::noinline]] inline void cancel_block(Lanes* sums, Lanes* factors, const Lanes* modulus, Lanes inverse) {
  Lanes sum[2 * kBlock], digit[kBlock];
  const Lanes zero = all_lanes(0);
  digits_detail::repeat<kBlock>([&](auto i) { digit[i] = modulus[i]; });
  digits_detail::repeat<2 * kBlock>([&](auto i) { sum[i] = sums[i]; });
  digits_detail::repeat<kBlock>([&](auto j) {
    const Lanes factor = add_low(zero, sum[j], inverse);
    factors[j] = factor;
    digits_detail::repeat<kBlock>([&](auto i) { sum[i + j] = add_low(sum[i + j], digit[i], factor); });
    digits_detail::repeat<kBlock>([&](auto i) { sum[i + j + 1] = add_high(sum[i + j + 1], digit[i], factor); });
    sum[j + 1] = sum[j + 1] + shift_right(sum[j], kDigitBits);
  });
  digits_detail::repeat<kBlock>([&](auto i) { sums[kBlock + i] = sum[kBlock + i]; });
}

/// Sets the digits to the sums, with carries.
inline void carry_sums(Lanes* digits, const Lanes* sums, std::size_t count) {
  const Lanes mask = all_lanes(kDigitMask);
  Lanes carry = all_lanes(0);
  for (unsigned i = 0; i < count; ++i) {
    const Lanes sum = sums[i] + carry;
    digits[i] = sum & mask;
    carry = signed_carry(sum);
  }
}

inline void clear(Lanes* digits, std::size_t count) {
  for (unsigned i = 0; i < count; ++i) digits[i] = all_lanes(0);
}

/// Sets the sums of 2 * blocks blocks to the product of two numbers of `blocks` blocks.
inline void set_products(Lanes* sums, const Lanes* a, const Lanes* b, unsigned blocks) {
  add_product<0>(sums, a, b);
  for (unsigned j = 1; j < blocks; ++j) add_product<kBlock>(sums + j * kBlock, a, b + j * kBlock);
  for (unsigned i = 1; i < blocks; ++i) {
    const Lanes* const factor = a + i * kBlock;
    Lanes* const low = sums + i * kBlock;
    for (unsigned j = 0; j + 1 < blocks; ++j) add_product<2 * kBlock>(low + j * kBlock, factor, b + j * kBlock);
    add_product<kBlock>(low + (blocks - 1) * kBlock, factor, b + (blocks - 1) * kBlock);
  }
}

/// Sets result = sums / R mod modulus. Overwrites the sums of 2 * modulus.blocks blocks.
inline void reduce(Lanes* result, Lanes* sums, const LaneModulus& modulus) {
  Lanes factors[kBlock];
  for (unsigned i = 0; i < modulus.blocks; ++i) {
    Lanes* const low = sums + i * kBlock;
    cancel_block(low, factors, modulus.digits, modulus.inverse);
    for (unsigned j = 1; j < modulus.blocks; ++j) {
      add_product<2 * kBlock>(low + j * kBlock, factors, modulus.digits + j * kBlock);
    }
  }
  carry_sums(result, sums + modulus.blocks * kBlock, modulus.blocks * kBlock);
}

/// Sets result = a * b / R mod modulus. The result may be a factor.
inline void multiply(Lanes* result, const Lanes* a, const Lanes* b, const LaneModulus& modulus) {
  Lanes sums[2 * kMostDigits];
  set_products(sums, a, b, modulus.blocks);
  reduce(result, sums, modulus);
}

/// Sets result = a * a / R mod modulus. The result may be the factor.
inline void square(Lanes* result, const Lanes* a, const LaneModulus& modulus) {
  Lanes sums[2 * kMostDigits];
  const unsigned blocks = modulus.blocks;
  for (unsigned i = 0; i < blocks; ++i) set_mixed_products(sums + 2 * kBlock * i, a + i * kBlock);
  for (unsigned i = 0; i < blocks; ++i) {
    for (unsigned j = i + 1; j < blocks; ++j) {
      add_product<2 * kBlock>(sums + (i + j) * kBlock, a + i * kBlock, a + j * kBlock);
    }
  }
  for (std::size_t i = 0; i < blocks * kBlock; ++i) {
    sums[2 * i] = add_low(sums[2 * i] + sums[2 * i], a[i], a[i]);
    sums[2 * i + 1] = add_high(sums[2 * i + 1] + sums[2 * i + 1], a[i], a[i]);
  }
  reduce(result, sums, modulus);
}

/// Subtracts the modulus from numbers that are not less. The numbers are less than twice the modulus.
inline void subtract_once(Lanes* digits, const LaneModulus& modulus) {
  const std::size_t count = modulus.blocks * kBlock;
  const Lanes mask = all_lanes(kDigitMask);
  Lanes less[kMostDigits], borrow = all_lanes(0);
  for (unsigned i = 0; i < count; ++i) {
    const Lanes difference = digits[i] - modulus.digits[i] + borrow;
    less[i] = difference & mask;
    borrow = signed_carry(difference);
  }
  const LaneMask is_reduced = are_equal(borrow, all_lanes(0));
  for (unsigned i = 0; i < count; ++i) digits[i] = select(is_reduced, less[i], digits[i]);
}

/// Sets result = number / R mod modulus, fully reduced.
inline void leave_montgomery(Lanes* result, const Lanes* number, const LaneModulus& modulus) {
  Lanes sums[2 * kMostDigits];
  clear(sums, 2 * kBlock * modulus.blocks);
  for (unsigned i = 0; i < modulus.blocks * kBlock; ++i) sums[i] = number[i];
  reduce(result, sums, modulus);
  subtract_once(result, modulus);
}

}  // namespace penumbra::rsa
