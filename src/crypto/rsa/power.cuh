// SPDX-License-Identifier: Apache-2.0
//
// Powers modulo a prime with a fixed window. The table is in shared memory and is read as a whole, so that no address
// and no branch depends on the exponent.
#pragma once

#include <cstdint>

#include "crypto/rsa/square.cuh"

namespace penumbra::rsa::gpu {

/// A number of both groups of an operation, whose halves are in columns of the groups.
template <unsigned kAll>
struct BothColumns {
  Column first;
  PENUMBRA_LANE Column of(unsigned half) const { return {first.words + half, first.stride}; }
  PENUMBRA_LANE std::uint32_t operator()(unsigned i) const { return of(i / kAll)(i % kAll); }
};

/// The shared memory of a block: columns for `halves` groups. A group has one for each power in the table, and if it
/// has several lanes, one for an operand.
template <unsigned kLanes, unsigned kWords, unsigned kWindow>
struct Table {
  static constexpr unsigned kPowers = (1U << kWindow) - 1;  ///< From the first on; the power 0 is not stored.
  static constexpr unsigned kColumns = kPowers + (kLanes > 1 ? 1 : 0);
  static constexpr unsigned kAll = kLanes * kWords;

  std::uint32_t* memory;
  unsigned halves, half;

  /// Returns the column of a power, or with kPowers + 1 the operand's.
  PENUMBRA_LANE Column of(unsigned power) const { return {memory + (power - 1) * kAll * halves + half, halves}; }
  /// Returns one of several numbers of both groups of an operation, in the place of the table.
  PENUMBRA_LANE BothColumns<kAll> of_both(unsigned index) const {
    return {{memory + index * kAll * halves + half / 2 * 2, halves}};
  }
};

/// Returns bits of an exponent of kAll words.
template <unsigned kAll, unsigned kWindow>
PENUMBRA_LANE std::uint32_t digit_at(const std::uint32_t* exponent, unsigned digit) {
  const unsigned bit = digit * kWindow, word = bit / 32;
  const std::uint64_t both = std::uint64_t{word + 1 < kAll ? exponent[word + 1] : 0} << 32 | exponent[word];
  return static_cast<std::uint32_t>(both >> bit % 32) & ((1U << kWindow) - 1);
}

/// Returns a mask of all bits if a digit is zero. The compiler may turn a choice between two values into a branch.
PENUMBRA_LANE std::uint32_t zero_mask(std::uint32_t digit) {
  return 0U - ((digit - 1) >> 31);
}

/// Returns words of a power that masks select, and zeros for the power 0. Reads all powers.
template <class PowerTable>
struct Selection {
  const PowerTable& table;
  std::uint32_t masks[PowerTable::kPowers];

  PENUMBRA_LANE Selection(const PowerTable& from, std::uint32_t digit) : table(from) {
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < PowerTable::kPowers; ++i) masks[i] = zero_mask(digit ^ (i + 1));
  }
  PENUMBRA_LANE std::uint32_t operator()(unsigned i) const {
    std::uint32_t word = 0;
    PENUMBRA_UNROLL
    for (unsigned power = 0; power < PowerTable::kPowers; ++power) word |= table.of(power + 1)(i) & masks[power];
    return word;
  }
};

/// Sets result = base^exponent. Both are in Montgomery form.
template <unsigned kLanes, unsigned kWords, unsigned kWindow, class Lane>
PENUMBRA_LANE void power(const Lane& lane, std::uint32_t (&result)[kWords], const std::uint32_t (&base)[kWords],
                         const std::uint32_t* exponent, const Table<kLanes, kWords, kWindow>& table,
                         const Modulus<kWords>& modulus) {
  using PowerTable = Table<kLanes, kWords, kWindow>;
  constexpr unsigned kAll = PowerTable::kAll, kDigits = (32 * kAll + kWindow - 1) / kWindow;
  const unsigned first = place_of<kLanes>(lane) * kWords;
  const Column operand = table.of(PowerTable::kPowers + 1);
  store(table.of(1), first, base);
  lane.sync();
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) result[i] = base[i];
  PENUMBRA_ROLL
  for (unsigned i = 2; i <= PowerTable::kPowers; ++i) {
    multiply<kLanes>(lane, result, result, table.of(1), modulus);
    store(table.of(i), first, result);
  }
  lane.sync();
  std::uint32_t digit = digit_at<kAll, kWindow>(exponent, kDigits - 1);
  {
    const Selection<PowerTable> selection(table, digit);
    const std::uint32_t is_zero = zero_mask(digit);
    std::uint32_t zero[kWords], one[kWords];
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < kWords; ++i) zero[i] = 0;
    subtract<kLanes>(lane, one, zero, modulus.words);  // R - modulus = R mod modulus
    PENUMBRA_UNROLL
    for (unsigned i = 0; i < kWords; ++i) result[i] = (one[i] & is_zero) | selection(first + i);
  }
  PENUMBRA_ROLL
  for (unsigned i = kDigits - 1; i > 0; --i) {
    digit = digit_at<kAll, kWindow>(exponent, i - 1);
    PENUMBRA_ROLL
    for (unsigned j = 0; j < kWindow; ++j) square<kLanes>(lane, result, result, operand, modulus);
    const Selection<PowerTable> selection(table, digit);
    std::uint32_t product[kWords];
    if constexpr (kLanes == 1) {
      multiply<1>(lane, product, result, selection, modulus);
    } else {
      PENUMBRA_UNROLL
      for (unsigned k = 0; k < kWords; ++k) product[k] = selection(first + k);
      lane.sync();
      store(operand, first, product);
      lane.sync();
      multiply<kLanes>(lane, product, result, operand, modulus);
    }
    const std::uint32_t is_zero = zero_mask(digit);
    PENUMBRA_UNROLL
    for (unsigned k = 0; k < kWords; ++k) result[k] = (result[k] & is_zero) | (product[k] & ~is_zero);
  }
}

}  // namespace penumbra::rsa::gpu
