// SPDX-License-Identifier: Apache-2.0
//
// Montgomery arithmetic of a group of kLanes neighbouring lanes of a warp. A number has kLanes * kWords words, of which
// each lane has kWords in registers, the first lane the lowest. R is 2^(32 * kLanes * kWords). A modulus has its
// highest bit set. Numbers are less than R, and not always less than the modulus, unless a function says so.
//
// A row of products is a chain of wide multiply-add instructions. The products of even words and those of odd words
// have accumulators of their own, so that no chain needs a product at an odd place: value = even + odd * 2^32.
//
// `Lane` gives the operations between lanes. All lanes of the warp call them together:
//
//   index()          the place in the warp
//   from(v, lane)    the value `v` of another lane
//   ballot(is)       a bit of each lane
//   sync()           makes shared memory visible to the warp
#pragma once

#include <cstdint>
#include <type_traits>

#include "crypto/rsa/carry_chain.cuh"

namespace penumbra::rsa::gpu {

/// The place of a lane in its group.
template <unsigned kLanes, class Lane>
PENUMBRA_LANE unsigned place_of(const Lane& lane) {
  return lane.index() % kLanes;
}
/// Returns the value of the group's lane at `place`.
template <unsigned kLanes, class Lane>
PENUMBRA_LANE std::uint32_t from_place(const Lane& lane, std::uint32_t value, unsigned place) {
  if constexpr (kLanes == 1) return value;
  return lane.from(value, lane.index() / kLanes * kLanes + place);
}
/// Returns the value of the lane above, and 0 for the highest.
template <unsigned kLanes, class Lane>
PENUMBRA_LANE std::uint32_t from_above(const Lane& lane, std::uint32_t value) {
  if constexpr (kLanes == 1) return 0;
  const unsigned place = place_of<kLanes>(lane);
  const std::uint32_t above = from_place<kLanes>(lane, value, (place + 1) % kLanes);
  return place == kLanes - 1 ? 0 : above;
}
/// Returns the value of the lane below, and 0 for the lowest.
template <unsigned kLanes, class Lane>
PENUMBRA_LANE std::uint32_t from_below(const Lane& lane, std::uint32_t value) {
  if constexpr (kLanes == 1) return 0;
  const unsigned place = place_of<kLanes>(lane);
  const std::uint32_t below = from_place<kLanes>(lane, value, (place + kLanes - 1) % kLanes);
  return place == 0 ? 0 : below;
}
/// A bit of each lane of the group, and one above.
template <unsigned kLanes>
using GroupBits = std::conditional_t<kLanes == 32, std::uint64_t, std::uint32_t>;
template <unsigned kLanes, class Lane>
PENUMBRA_LANE GroupBits<kLanes> group_ballot(const Lane& lane, bool is) {
  return lane.ballot(is) >> (lane.index() / kLanes * kLanes) & ((GroupBits<kLanes>{1} << kLanes) - 1);
}
/// Returns the lanes that a carry enters, given those that send one and those that pass one on. Bit kLanes is set if a
/// carry leaves the group. No lane does both: after a carry, an addition leaves no full lane, and a subtraction no
/// zero.
template <class Bits>
PENUMBRA_LANE Bits carried_into(Bits sends, Bits passes) {
  return ((sends << 1) + passes) ^ passes;
}

/// Adds the carry of each lane, 0 or 1, to the lane above. Returns the carry out of the group.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE std::uint32_t resolve_carries(const Lane& lane, std::uint32_t (&words)[kWords], std::uint32_t carry) {
  if constexpr (kLanes == 1) return carry;
  std::uint32_t full = 0xFFFFFFFF;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) full &= words[i];
  const GroupBits<kLanes> into =
      carried_into(group_ballot<kLanes>(lane, carry != 0), group_ballot<kLanes>(lane, full == 0xFFFFFFFF));
  words[0] = add_set(words[0], static_cast<std::uint32_t>(into >> place_of<kLanes>(lane)) & 1);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) words[i] = add_through(words[i], 0);
  return static_cast<std::uint32_t>(into >> kLanes) & 1;
}

/// Sets result = a - (b & mask) and returns the borrow.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE std::uint32_t subtract(const Lane& lane, std::uint32_t (&result)[kWords],
                                     const std::uint32_t (&a)[kWords], const std::uint32_t (&b)[kWords],
                                     std::uint32_t mask = 0xFFFFFFFF) {
  result[0] = subtract_set(a[0], b[0] & mask);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) result[i] = subtract_through(a[i], b[i] & mask);
  const std::uint32_t borrow = subtract_end(0, 0) & 1;
  if constexpr (kLanes == 1) return borrow;
  std::uint32_t any = 0;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) any |= result[i];
  const GroupBits<kLanes> into =
      carried_into(group_ballot<kLanes>(lane, borrow != 0), group_ballot<kLanes>(lane, any == 0));
  result[0] = subtract_set(result[0], static_cast<std::uint32_t>(into >> place_of<kLanes>(lane)) & 1);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) result[i] = subtract_through(result[i], 0);
  return static_cast<std::uint32_t>(into >> kLanes) & 1;
}

/// Adds b & mask and returns the carry out of the group.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE std::uint32_t add(const Lane& lane, std::uint32_t (&words)[kWords], const std::uint32_t (&b)[kWords],
                                std::uint32_t mask = 0xFFFFFFFF) {
  words[0] = add_set(words[0], b[0] & mask);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) words[i] = add_through(words[i], b[i] & mask);
  return resolve_carries<kLanes>(lane, words, add_end(0, 0));
}

/// Makes a number less than the modulus.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void subtract_once(const Lane& lane, std::uint32_t (&words)[kWords],
                                 const std::uint32_t (&modulus)[kWords]) {
  std::uint32_t less[kWords];
  const std::uint32_t keep = 0U - subtract<kLanes>(lane, less, words, modulus);
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) words[i] = (words[i] & keep) | (less[i] & ~keep);
}

/// Adds the products of every second word of `words`, from the first on, with `factor`. Returns the carry.
template <unsigned kWords>
PENUMBRA_LANE std::uint32_t add_products(std::uint32_t* sums, const std::uint32_t* words, std::uint32_t factor) {
  sums[0] = low_set(words[0], factor, sums[0]);
  sums[1] = high_through(words[0], factor, sums[1]);
  PENUMBRA_UNROLL
  for (unsigned i = 2; i < kWords; i += 2) {
    sums[i] = low_through(words[i], factor, sums[i]);
    sums[i + 1] = high_through(words[i], factor, sums[i + 1]);
  }
  return add_end(0, 0);
}

/// Like add_products(), but first moves the sums down by two words, and begins with the carry flag. `top` becomes the
/// highest word.
template <unsigned kWords>
PENUMBRA_LANE std::uint32_t move_and_add_products(std::uint32_t* sums, const std::uint32_t* words, std::uint32_t factor,
                                                  std::uint32_t top) {
  PENUMBRA_UNROLL
  for (unsigned i = 2; i < kWords; i += 2) {
    sums[i - 2] = low_through(words[i - 2], factor, sums[i]);
    sums[i - 1] = high_through(words[i - 2], factor, sums[i + 1]);
  }
  sums[kWords - 2] = low_through(words[kWords - 2], factor, 0);
  sums[kWords - 1] = high_through(words[kWords - 2], factor, top);
  return add_end(0, 0);
}

/// A modulus, and -1 / modulus mod 2^32.
template <unsigned kWords>
struct Modulus {
  std::uint32_t words[kWords];
  std::uint32_t inverse;
};

/// Gives the lowest word of each lane to the lane below, as the word above its highest.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void pass_lowest(const Lane& lane, const std::uint32_t (&even)[kWords], std::uint32_t (&odd)[kWords],
                               std::uint32_t& top) {
  if constexpr (kLanes > 1) {
    odd[kWords - 1] = add_set(odd[kWords - 1], from_above<kLanes>(lane, even[0]));
    top = add_end(top, 0);
  }
}

/// Adds words * factor, makes the lowest word of the group zero by a multiple of the modulus, and divides by 2^32. Then
/// `even` and `odd` have changed roles. The lowest word of `odd` was taken away by the step before. The value of a lane
/// stays below 3 * 2^(32 * kWords), so `top`, the word above, stays below 3.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void multiply_step(const Lane& lane, std::uint32_t (&even)[kWords], std::uint32_t (&odd)[kWords],
                                 std::uint32_t& top, const std::uint32_t (&words)[kWords], std::uint32_t factor,
                                 const Modulus<kWords>& modulus) {
  even[0] = add_set(even[0], odd[1]);
  std::uint32_t next_top = move_and_add_products<kWords>(odd, words + 1, factor, top);
  std::uint32_t carry = add_products<kWords>(even, words, factor);
  odd[kWords - 1] = add_set(odd[kWords - 1], carry);
  next_top = add_end(next_top, 0);
  const std::uint32_t quotient = from_place<kLanes>(lane, even[0] * modulus.inverse, 0);
  next_top += add_products<kWords>(odd, modulus.words + 1, quotient);
  carry = add_products<kWords>(even, modulus.words, quotient);
  odd[kWords - 1] = add_set(odd[kWords - 1], carry);
  top = add_end(next_top, 0);
  pass_lowest<kLanes>(lane, even, odd, top);
}

/// Like multiply_step(), without a product.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void reduce_step(const Lane& lane, std::uint32_t (&even)[kWords], std::uint32_t (&odd)[kWords],
                               std::uint32_t& top, const Modulus<kWords>& modulus) {
  even[0] = add_set(even[0], odd[1]);
  std::uint32_t carry = add_end(0, 0);
  const std::uint32_t quotient = from_place<kLanes>(lane, even[0] * modulus.inverse, 0);
  add_set(carry, 0xFFFFFFFF);  // sets the flag again
  const std::uint32_t next_top = move_and_add_products<kWords>(odd, modulus.words + 1, quotient, top);
  carry = add_products<kWords>(even, modulus.words, quotient);
  odd[kWords - 1] = add_set(odd[kWords - 1], carry);
  top = add_end(next_top, 0);
  pass_lowest<kLanes>(lane, even, odd, top);
}

/// Sets result to the sum of the accumulators, and returns the word above the lane's highest.
template <unsigned kWords>
PENUMBRA_LANE std::uint32_t join(std::uint32_t (&result)[kWords], const std::uint32_t (&even)[kWords],
                                 const std::uint32_t (&odd)[kWords], std::uint32_t top) {
  result[0] = add_set(even[0], odd[1]);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords - 1; ++i) result[i] = add_through(even[i], odd[i + 1]);
  result[kWords - 1] = add_through(even[kWords - 1], 0);
  return add_end(top, 0);
}

/// Makes a number with words above its lanes less than R. The number is less than R + modulus.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void settle(const Lane& lane, std::uint32_t (&words)[kWords], std::uint32_t top,
                          const Modulus<kWords>& modulus) {
  std::uint32_t beyond = top;
  if constexpr (kLanes > 1) {
    beyond = from_place<kLanes>(lane, top, kLanes - 1);
    words[0] = add_set(words[0], from_below<kLanes>(lane, top));
    PENUMBRA_UNROLL
    for (unsigned i = 1; i < kWords; ++i) words[i] = add_through(words[i], 0);
    beyond += resolve_carries<kLanes>(lane, words, add_end(0, 0));
  }
  subtract<kLanes>(lane, words, words, modulus.words, 0U - beyond);
}

/// Sets result = a * b / R mod modulus. `word_of_b(i)` returns word i of the group's `b`.
template <unsigned kLanes, unsigned kWords, class Lane, class WordOfB>
PENUMBRA_LANE void multiply(const Lane& lane, std::uint32_t (&result)[kWords], const std::uint32_t (&a)[kWords],
                            const WordOfB& word_of_b, const Modulus<kWords>& modulus) {
  constexpr unsigned kAll = kLanes * kWords;
  std::uint32_t even[kWords], odd[kWords], top = 0;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) even[i] = odd[i] = 0;
  std::uint32_t first = word_of_b(0), second = word_of_b(1);
  PENUMBRA_ROLL
  for (unsigned i = 2; i <= kAll; i += 2) {
    const unsigned next = i < kAll ? i : 0;  // loaded long before its use
    const std::uint32_t next_first = word_of_b(next), next_second = word_of_b(next + 1);
    multiply_step<kLanes>(lane, even, odd, top, a, first, modulus);
    multiply_step<kLanes>(lane, odd, even, top, a, second, modulus);
    first = next_first;
    second = next_second;
  }
  top = join(result, even, odd, top);
  settle<kLanes>(lane, result, top, modulus);
}

/// Sets result = (low + high * R) / R mod modulus.
template <unsigned kLanes, unsigned kWords, class Lane>
PENUMBRA_LANE void reduce(const Lane& lane, std::uint32_t (&result)[kWords], std::uint32_t (&low)[kWords],
                          const std::uint32_t (&high)[kWords], const Modulus<kWords>& modulus) {
  std::uint32_t odd[kWords], top = 0;
  PENUMBRA_UNROLL
  for (unsigned i = 0; i < kWords; ++i) odd[i] = 0;
  PENUMBRA_ROLL
  for (unsigned i = 0; i < kLanes * kWords; i += 2) {
    reduce_step<kLanes>(lane, low, odd, top, modulus);
    reduce_step<kLanes>(lane, odd, low, top, modulus);
  }
  top = join(result, low, odd, top);
  result[0] = add_set(result[0], high[0]);
  PENUMBRA_UNROLL
  for (unsigned i = 1; i < kWords; ++i) result[i] = add_through(result[i], high[i]);
  top = add_end(top, 0);
  settle<kLanes>(lane, result, top, modulus);
}

}  // namespace penumbra::rsa::gpu
