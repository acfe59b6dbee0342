// SPDX-License-Identifier: Apache-2.0
#include "crypto/rsa/key.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

#include "crypto/reveal.h"
#include "crypto/secret_memory.h"

namespace penumbra::rsa {
namespace {

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

bool is_of_full_size(std::span<const std::uint32_t> words) {
  return reveal(words.back() >> 31) && reveal(words.front() & 1);
}

/// Returns if a * b = product.
bool is_product(const rsa_half& a, const rsa_half& b, std::span<const std::uint32_t> product) {
  std::uint32_t wide[RSA_MOST_WORDS];
  const auto words = static_cast<std::uint32_t>(product.size());
  words_multiply(wide, a.prime, b.prime, words / 2);
  const bool is_equal = reveal(words_equal(wide, product.data(), words));
  erase_bytes(wide, sizeof wide);
  return is_equal;
}

void expand_half(rsa_half& half, std::span<const std::uint8_t> prime, std::span<const std::uint8_t> exponent,
                 std::uint32_t words) {
  require(words_of(prime, {half.prime, words}) && is_of_full_size({half.prime, words}),
          "the primes do not have half of the bits of the modulus");
  require(words_of(exponent, {half.exponent, words}) && reveal(words_less(half.exponent, half.prime, words)),
          "an exponent is not less than its prime");
  half.inverse = word_negative_inverse(half.prime[0]);
  words_subtract(half.negative, half.prime, half.exponent, words);
  std::uint32_t one[RSA_MOST_HALF_WORDS];
  words_set(one, 1, words);
  words_subtract(half.negative, half.negative, one, words);
  montgomery_power_of_two(half.cube, 2 * 32 * words, half.prime, half.inverse, words);
}

}  // namespace

bool words_of(std::span<const std::uint8_t> bytes, std::span<std::uint32_t> words) {
  std::ranges::fill(words, 0);
  std::uint8_t beyond = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::uint8_t byte = bytes[bytes.size() - 1 - i];
    if (i / 4 < words.size()) {
      words[i / 4] |= std::uint32_t{byte} << (8 * (i % 4));
    } else {
      beyond |= byte;
    }
  }
  return !reveal(beyond);
}

void bytes_of(std::span<const std::uint32_t> words, std::span<std::uint8_t> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[bytes.size() - 1 - i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
  }
}

void fill_random(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "cannot get random bytes");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void expand(const KeyParts& parts, rsa_key& key) {
  erase_bytes(&key, sizeof key);
  const auto leading = std::ranges::find_if(parts.modulus, [](std::uint8_t byte) { return byte != 0; });
  const auto bits = static_cast<std::size_t>(parts.modulus.end() - leading) * 8;
  require(bits == 2048 || bits == 3072 || bits == 4096, "the modulus does not have 2048, 3072 or 4096 bits");
  key.words = static_cast<std::uint32_t>(bits / 32);
  require(words_of(parts.modulus, {key.modulus, key.words}) && is_of_full_size({key.modulus, key.words}),
          "the modulus does not have 2048, 3072 or 4096 bits");
  require(words_of(parts.public_exponent, {&key.exponent, 1}) && key.exponent % 2 == 1 && key.exponent >= 3,
          "the public exponent is even or has more than 32 bits");
  key.inverse = word_negative_inverse(key.modulus[0]);
  montgomery_power_of_two(key.square, 32 * key.words, key.modulus, key.inverse, key.words);
  const std::uint32_t words = key.words / 2;
  expand_half(key.half[0], parts.prime1, parts.exponent1, words);
  expand_half(key.half[1], parts.prime2, parts.exponent2, words);
  require(is_product(key.half[0], key.half[1], {key.modulus, key.words}), "the primes do not make the modulus");
  const rsa_half& p = key.half[0];
  require(words_of(parts.coefficient, {key.coefficient, words}) && reveal(words_less(key.coefficient, p.prime, words)),
          "the coefficient is not less than its prime");
  std::uint32_t square[RSA_MOST_HALF_WORDS];
  montgomery_power_of_two(square, 32 * words, p.prime, p.inverse, words);
  montgomery_multiply(key.coefficient, key.coefficient, square, p.prime, p.inverse, words);
  erase_bytes(square, sizeof square);
}

}  // namespace penumbra::rsa
