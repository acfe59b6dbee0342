// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/ifma.h"

#include <algorithm>
#include <new>

#include "crypto/reveal.h"
#include "crypto/rsa/digits.h"
#include "crypto/rsa/key.h"

namespace penumbra::rsa {
namespace ifma {

constexpr std::uint32_t kUsesOfPair = 32;
constexpr unsigned kWindowsOfWord = 64 / RSA_WINDOW;

struct HalfLanes {
  LaneModulus prime;
  Lanes cube[kMostHalfDigits];
  Lanes exponent[32], negative[32];
};

/// The keys of eight operations side by side, and intermediate numbers.
struct Scratch {
  LaneModulus modulus;
  Lanes square[kMostDigits];
  Lanes coefficient[kMostHalfDigits];
  HalfLanes half[2];
  Lanes before[kMostDigits], after[kMostDigits];
  Lanes input[kMostDigits], blinded[kMostDigits], power[kMostDigits], output[kMostDigits];
  Lanes by_half[2][kMostHalfDigits], factor[kMostHalfDigits];
  Lanes powers[RSA_POWERS][kMostHalfDigits];
  std::uint64_t exponent[kLanes];
};

namespace {

using LaneWord [[gnu::may_alias]] = std::uint64_t;
using LaneWords = LaneWord (*)[kLanes];

/// The lanes of `vectors` as words, to which single lanes are written.
LaneWords words_of_lanes(Lanes* vectors) {
  return reinterpret_cast<LaneWords>(vectors);
}

template <std::size_t kCount>
void put(Lanes* to, unsigned lane, const std::array<std::uint64_t, kCount>& from) {
  const LaneWords words = words_of_lanes(to);
  for (std::size_t i = 0; i < kCount; ++i) words[i][lane] = from[i];
}

template <std::size_t kCount>
void get(std::array<std::uint64_t, kCount>& to, unsigned lane, Lanes* from) {
  const LaneWords words = words_of_lanes(from);
  for (std::size_t i = 0; i < kCount; ++i) to[i] = words[i][lane];
}

void put_inverse(LaneModulus& modulus, unsigned lane, std::uint64_t inverse, std::uint32_t blocks) {
  modulus.blocks = blocks;
  words_of_lanes(&modulus.inverse)[0][lane] = inverse;
}

void put_key(Scratch& scratch, unsigned lane, const KeyDigits& key) {
  put(scratch.modulus.digits, lane, key.modulus);
  put_inverse(scratch.modulus, lane, key.inverse, key.blocks);
  put(scratch.square, lane, key.square);
  put(scratch.coefficient, lane, key.coefficient);
  for (unsigned i = 0; i < 2; ++i) {
    put(scratch.half[i].prime.digits, lane, key.half[i].prime);
    put_inverse(scratch.half[i].prime, lane, key.half[i].inverse, key.blocks / 2);
    put(scratch.half[i].cube, lane, key.half[i].cube);
    put(scratch.half[i].exponent, lane, key.half[i].exponent);
    put(scratch.half[i].negative, lane, key.half[i].negative);
  }
  scratch.exponent[lane] = key.exponent;
}

/// Writes a number of `bytes` bytes, most significant byte first, as digits.
void put_bytes(Lanes* to, unsigned lane, const std::uint8_t* from, std::size_t bytes) {
  const LaneWords words = words_of_lanes(to);
  unsigned digit = 0, bits = 0;
  unsigned __int128 pending = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    pending |= static_cast<unsigned __int128>(from[bytes - 1 - i]) << bits;
    bits += 8;
    if (bits < kDigitBits) continue;
    words[digit++][lane] = static_cast<std::uint64_t>(pending) & kDigitMask;
    pending >>= kDigitBits;
    bits -= kDigitBits;
  }
  for (; digit < kMostDigits; pending = 0) words[digit++][lane] = static_cast<std::uint64_t>(pending);
}

void get_bytes(std::uint8_t* to, std::size_t bytes, unsigned lane, Lanes* from) {
  const LaneWords words = words_of_lanes(from);
  unsigned digit = 0, bits = 0;
  unsigned __int128 pending = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (bits < 8) {
      pending |= static_cast<unsigned __int128>(words[digit++][lane]) << bits;
      bits += kDigitBits;
    }
    to[bytes - 1 - i] = static_cast<std::uint8_t>(pending);
    pending >>= 8;
    bits -= 8;
  }
}

/// Sets result = powers[index] in each lane. Reads all powers.
void select_power(Lanes* result, const Lanes (*powers)[kMostHalfDigits], Lanes index, unsigned blocks) {
  LaneMask masks[RSA_POWERS];
  for (unsigned i = 0; i < RSA_POWERS; ++i) masks[i] = are_equal(index, all_lanes(i));
  for (unsigned begin = 0; begin < blocks * kBlock; begin += kBlock) {
    Lanes sum[kBlock];
    digits_detail::repeat<kBlock>([&](auto j) { sum[j] = powers[0][begin + j]; });
    for (unsigned i = 1; i < RSA_POWERS; ++i) {
      digits_detail::repeat<kBlock>([&](auto j) { sum[j] = select(masks[i], powers[i][begin + j], sum[j]); });
    }
    digits_detail::repeat<kBlock>([&](auto j) { result[begin + j] = sum[j]; });
  }
}

/// Sets result = number^exponent mod prime, fully reduced.
void half_power(Lanes* result, const Lanes* number, const HalfLanes& half, const Lanes* exponent, Scratch& scratch) {
  const LaneModulus& prime = half.prime;
  const unsigned blocks = prime.blocks;
  Lanes(*const powers)[kMostHalfDigits] = scratch.powers;
  Lanes* const sums = scratch.power;  // of twice the digits
  std::copy_n(number, 2 * kBlock * blocks, sums);
  reduce(powers[1], sums, prime);
  multiply(powers[1], powers[1], half.cube, prime);
  leave_montgomery(powers[0], half.cube, prime);
  leave_montgomery(powers[0], powers[0], prime);
  for (unsigned i = 2; i < RSA_POWERS; ++i) {
    if (i % 2 == 0) {
      square(powers[i], powers[i / 2], prime);
    } else {
      multiply(powers[i], powers[i - 1], powers[1], prime);
    }
  }
  Lanes* const factor = scratch.factor;
  const Lanes mask = all_lanes(RSA_POWERS - 1);
  for (unsigned window = blocks * 8 * kWindowsOfWord; window-- != 0;) {
    const unsigned shift = window % kWindowsOfWord * RSA_WINDOW;
    const Lanes index = shift_right(exponent[window / kWindowsOfWord], shift) & mask;
    if (window == blocks * 8 * kWindowsOfWord - 1) {
      select_power(result, powers, index, blocks);
      continue;
    }
    for (unsigned i = 0; i < RSA_WINDOW; ++i) square(result, result, prime);
    select_power(factor, powers, index, blocks);
    multiply(result, result, factor, prime);
  }
  leave_montgomery(result, result, prime);
}

/// Sets scratch.power = number^d mod modulus, or number^-d.
void power(Scratch& scratch, const Lanes* number, bool is_negative) {
  for (unsigned i = 0; i < 2; ++i) {
    const HalfLanes& half = scratch.half[i];
    half_power(scratch.by_half[i], number, half, is_negative ? half.negative : half.exponent, scratch);
  }
  const LaneModulus &p = scratch.half[0].prime, &q = scratch.half[1].prime;
  const unsigned blocks = p.blocks;
  Lanes *const by_p = scratch.by_half[0], *const by_q = scratch.by_half[1];
  // by_p = (by_p - by_q + 2 p) / q mod p. The difference is positive, because q is less than 2 p.
  for (unsigned i = 0; i < blocks * kBlock; ++i) {
    scratch.factor[i] = by_p[i] - by_q[i] + p.digits[i] + p.digits[i];
  }
  carry_sums(scratch.factor, scratch.factor, blocks * kBlock);
  multiply(by_p, scratch.factor, scratch.coefficient, p);
  subtract_once(by_p, p);
  set_products(scratch.power, q.digits, by_p, blocks);
  for (unsigned i = 0; i < blocks * kBlock; ++i) scratch.power[i] = scratch.power[i] + by_q[i];
  carry_sums(scratch.power, scratch.power, 2 * kBlock * blocks);
}

/// Compares output^e mod modulus with the input.
LaneMask are_roots(Scratch& scratch) {
  const LaneModulus& modulus = scratch.modulus;
  const std::size_t count = modulus.blocks * kBlock;
  Lanes *const base = scratch.blinded, *const result = scratch.power;
  multiply(base, scratch.output, scratch.square, modulus);
  leave_montgomery(result, scratch.square, modulus);
  std::uint64_t any = 0;
  for (const std::uint64_t exponent : scratch.exponent) any |= exponent;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if (bit > any) continue;
    square(result, result, modulus);
    if ((bit & any) == 0) continue;
    Lanes product[kMostDigits], has_bit;
    for (unsigned i = 0; i < kLanes; ++i) words_of_lanes(&has_bit)[0][i] = scratch.exponent[i] & bit;
    multiply(product, result, base, modulus);
    const LaneMask mask = are_equal(has_bit, all_lanes(bit));
    for (unsigned i = 0; i < count; ++i) result[i] = select(mask, product[i], result[i]);
  }
  leave_montgomery(result, result, modulus);
  Lanes difference = all_lanes(0);
  for (unsigned i = 0; i < count; ++i) difference = difference | (result[i] ^ scratch.input[i]);
  return are_equal(difference, all_lanes(0));
}

/// Returns all ones in the lanes whose input is less than the modulus.
LaneMask are_small(Scratch& scratch) {
  Lanes borrow = all_lanes(0);
  for (unsigned i = 0; i < scratch.modulus.blocks * kBlock; ++i) {
    borrow = signed_carry(scratch.input[i] - scratch.modulus.digits[i] + borrow);
  }
  return are_equal(borrow, all_lanes(~std::uint64_t{0}));
}

bool is_in_lane(LaneMask mask, unsigned lane) {
  Lanes chosen = select(mask, all_lanes(1), all_lanes(0));
  return reveal(static_cast<std::uint32_t>(words_of_lanes(&chosen)[0][lane]));
}

/// Fills a number with random bits that are less than every modulus of `bytes` bytes with its highest bit set.
void put_random(Lanes* to, unsigned lane, std::size_t bytes) {
  std::array<std::uint8_t, std::size_t{4} * RSA_MOST_WORDS> random;
  fill_random(std::span(random).first(bytes));
  random[0] &= 0x7F;
  put_bytes(to, lane, random.data(), bytes);
  erase_bytes(random.data(), random.size());
}

/// Overwrites the stack on which the functions above had products.
[[gnu::noinline]] void erase_stack() {
  std::array<std::uint8_t, std::size_t{48} * 1024> used;
  erase_bytes(used.data(), used.size());
}

}  // namespace
}  // namespace ifma

using namespace ifma;

IfmaWorker::IfmaWorker() : scratch_(sizeof(Scratch)) {
  new (scratch_.data()) Scratch;
}

void IfmaWorker::run(std::span<Operation> operations) {
  Scratch& scratch = *std::launder(reinterpret_cast<Scratch*>(scratch_.data()));
  const auto count = static_cast<unsigned>(operations.size());
  if (count == 0) return;
  std::array<Pair*, kLanes> pairs{};
  std::array<Pair*, kLanes> renewed{};
  unsigned renewals = 0;
  for (unsigned i = 0; i < count; ++i) {
    Operation& operation = operations[i];
    std::size_t turn = 0;
    for (unsigned j = 0; j < i; ++j) turn += operations[j].key == operation.key ? 1 : 0;
    pairs[i] = &operation.key->digits().pairs[turn];
    if (pairs[i]->uses == 0) renewed[renewals++] = pairs[i];
    operation.status = RSA_WRONG;
  }
  const std::size_t bytes = operations[0].key->bytes();
  // Lanes without an operation repeat the first.
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Operation& operation = operations[lane < count ? lane : 0];
    put_key(scratch, lane, operation.key->digits());
    put_bytes(scratch.input, lane, operation.input, bytes);
  }
  for (const Operation& operation : operations) std::fill_n(operation.output, bytes, std::uint8_t{0});
  if (renewals != 0) {
    for (unsigned lane = 0; lane < kLanes; ++lane) put_random(scratch.before, lane, bytes);
    power(scratch, scratch.before, true);
    multiply(scratch.after, scratch.power, scratch.square, scratch.modulus);
    multiply(scratch.before, scratch.before, scratch.square, scratch.modulus);
    for (unsigned lane = 0; lane < count; ++lane) {
      if (pairs[lane]->uses != 0) continue;
      get(pairs[lane]->before, lane, scratch.before);
      get(pairs[lane]->after, lane, scratch.after);
      pairs[lane]->uses = kUsesOfPair;
    }
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Pair& pair = *pairs[lane < count ? lane : 0];
    put(scratch.before, lane, pair.before);
    put(scratch.after, lane, pair.after);
  }
  multiply(scratch.blinded, scratch.input, scratch.before, scratch.modulus);
  power(scratch, scratch.blinded, false);
  multiply(scratch.output, scratch.power, scratch.after, scratch.modulus);
  subtract_once(scratch.output, scratch.modulus);
  square(scratch.before, scratch.before, scratch.modulus);
  square(scratch.after, scratch.after, scratch.modulus);
  const LaneMask small = are_small(scratch), right = are_roots(scratch);
  for (unsigned lane = 0; lane < count; ++lane) {
    Operation& operation = operations[lane];
    get(pairs[lane]->before, lane, scratch.before);
    get(pairs[lane]->after, lane, scratch.after);
    --pairs[lane]->uses;
    operation.status = !is_in_lane(small, lane) ? RSA_TOO_LARGE : !is_in_lane(right, lane) ? RSA_WRONG : RSA_DONE;
    if (operation.status == RSA_DONE) get_bytes(operation.output, bytes, lane, scratch.output);
  }
  erase_stack();
}

}  // namespace penumbra::rsa
