// SPDX-License-Identifier: Apache-2.0
//
// Private keys of RSA as they come from a key file, and their expansion.
#pragma once

#include <cstdint>
#include <span>

#include "crypto/rsa/rsa.h"

namespace penumbra::rsa {

/// A private key before its expansion: numbers with the most significant byte first. Leading zeros are permitted.
struct KeyParts {
  std::span<const std::uint8_t> modulus, public_exponent;
  std::span<const std::uint8_t> prime1, prime2;        ///< p, q
  std::span<const std::uint8_t> exponent1, exponent2;  ///< d mod (p - 1), d mod (q - 1)
  std::span<const std::uint8_t> coefficient;           ///< 1 / q mod p
};

/// Expands a key. Throws std::invalid_argument, without any secret in its text, for a key that no form takes:
/// - the modulus has another size than 2048, 3072 and 4096 bits;
/// - the primes have different sizes, or do not make the modulus;
/// - the public exponent is even or has more than 32 bits.
/// Wrong exponents and coefficients are not found here, but by every operation.
void expand(const KeyParts& parts, rsa_key& key);

/// Sets `words` to a number, most significant byte first. Returns false if it does not fit.
bool words_of(std::span<const std::uint8_t> bytes, std::span<std::uint32_t> words);
/// Writes the number of `words` into all of `bytes`, most significant byte first. `bytes` has four for each word.
void bytes_of(std::span<const std::uint32_t> words, std::span<std::uint8_t> bytes);

/// Fills `bytes` with unpredictable bytes. Throws std::system_error if the operating system gives none.
void fill_random(std::span<std::uint8_t> bytes);

}  // namespace penumbra::rsa
