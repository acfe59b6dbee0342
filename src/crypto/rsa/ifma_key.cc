// SPDX-License-Identifier: Apache-2.0
//
// Keys of the form by AVX512-IFMA. This file itself needs no such instructions.
#include "crypto/rsa/ifma.h"

namespace penumbra::rsa {
namespace {

/// Splits words into digits.
template <std::size_t kCount>
void split(std::array<std::uint64_t, kCount>& digits, const std::uint32_t* words, std::uint32_t count) {
  for (std::size_t i = 0; i < kCount; ++i) {
    std::uint64_t digit = 0;
    for (unsigned taken = 0; taken < kDigitBits;) {
      const std::size_t bit = i * kDigitBits + taken;
      if (bit / 32 >= count) break;
      digit |= std::uint64_t{words[bit / 32]} >> (bit % 32) << taken;
      taken += static_cast<unsigned>(32 - bit % 32);
    }
    digits[i] = digit & kDigitMask;
  }
}

/// Sets result = 2^power mod modulus.
void power_of_two(std::uint32_t* result, std::uint32_t power, const std::uint32_t* modulus, std::uint32_t inverse,
                  std::uint32_t words) {
  std::uint32_t one[RSA_MOST_WORDS];
  words_set(one, 1, words);
  montgomery_power_of_two(result, power, modulus, inverse, words);
  montgomery_multiply(result, result, one, modulus, inverse, words);
}

std::uint64_t digit_inverse(const std::uint32_t* modulus) {
  const std::uint64_t odd = std::uint64_t{modulus[1]} << 32 | modulus[0];
  std::uint64_t inverse = odd;
  for (unsigned i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  return (0 - inverse) & kDigitMask;
}

void expand_half(ifma::Half& half, const rsa_half& from, std::uint32_t words, std::uint32_t radix_bits) {
  std::uint32_t cube[RSA_MOST_HALF_WORDS];
  power_of_two(cube, 3 * radix_bits, from.prime, from.inverse, words);
  split(half.prime, from.prime, words);
  split(half.cube, cube, words);
  for (std::uint32_t i = 0; i < words; ++i) {
    half.exponent[i / 2] |= std::uint64_t{from.exponent[i]} << (32 * (i % 2));
    half.negative[i / 2] |= std::uint64_t{from.negative[i]} << (32 * (i % 2));
  }
  half.inverse = digit_inverse(from.prime);
  erase_bytes(cube, sizeof cube);
}

}  // namespace

bool has_ifma() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512ifma") != 0;
}

IfmaKey::IfmaKey(const rsa_key& key) : bytes_(std::size_t{4} * key.words), digits_(1) {
  ifma::KeyDigits& digits = digits_[0];
  const std::uint32_t words = key.words / 2;
  digits.blocks = key.words / 16;  // ten digits have 520 bits
  const std::uint32_t radix_bits = digits.blocks / 2 * 520;
  digits.exponent = key.exponent;
  digits.inverse = digit_inverse(key.modulus);
  std::uint32_t number[RSA_MOST_WORDS], factor[RSA_MOST_HALF_WORDS];
  split(digits.modulus, key.modulus, key.words);
  power_of_two(number, 4 * radix_bits, key.modulus, key.inverse, key.words);
  split(digits.square, number, key.words);
  // The coefficient is a Montgomery number with another R in `key`.
  const rsa_half& p = key.half[0];
  power_of_two(factor, radix_bits, p.prime, p.inverse, words);
  montgomery_multiply(number, key.coefficient, factor, p.prime, p.inverse, words);
  split(digits.coefficient, number, words);
  for (std::size_t i = 0; i < 2; ++i) expand_half(digits.half[i], key.half[i], words, radix_bits);
  erase_bytes(number, sizeof number);
  erase_bytes(factor, sizeof factor);
}

}  // namespace penumbra::rsa
