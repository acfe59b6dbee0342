// SPDX-License-Identifier: Apache-2.0
//
// The private operation of RSA for eight inputs at a time by AVX512-IFMA. It gives the same results as rsa_private().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "crypto/rsa/rsa.h"
#include "crypto/secret_memory.h"

namespace penumbra::rsa {

inline constexpr unsigned kMostTogether = 8;
inline constexpr unsigned kDigitBits = 52;
inline constexpr std::uint64_t kDigitMask = (std::uint64_t{1} << kDigitBits) - 1;

/// Returns whether this CPU has the instructions.
bool has_ifma();

namespace ifma {

/// Long numbers as digits of 52 bits. Named after rsa_half.
struct Half {
  std::array<std::uint64_t, 40> prime, cube;
  std::array<std::uint64_t, 32> exponent, negative;  ///< As words of 64 bits.
  std::uint64_t inverse;
};
struct Pair {
  std::array<std::uint64_t, 80> before, after;
  std::uint32_t uses;  ///< Operations until a new pair is made.
};
struct KeyDigits {
  std::uint32_t blocks;  ///< Of ten digits, of the modulus: 4, 6 or 8.
  std::uint32_t exponent;
  std::uint64_t inverse;
  std::array<std::uint64_t, 80> modulus, square;
  std::array<std::uint64_t, 40> coefficient;
  std::array<Half, 2> half;
  std::array<Pair, kMostTogether> pairs;
};
struct Scratch;

}  // namespace ifma

/// A key for workers, in secret memory. Workers change its pairs, so that only one at a time may use a key.
class IfmaKey {
 public:
  /// Throws std::system_error if the operating system refuses the locked memory (about 20 KiB).
  explicit IfmaKey(const rsa_key& key);

  std::size_t bytes() const { return bytes_; }  ///< Of the modulus, and of inputs and outputs.
  ifma::KeyDigits& digits() { return digits_[0]; }

 private:
  std::size_t bytes_;
  SecretArray<ifma::KeyDigits> digits_;
};

/// An input and its result, each of key->bytes() bytes with the most significant byte first. They may be the same.
struct Operation {
  IfmaKey* key = nullptr;
  const std::uint8_t* input = nullptr;
  std::uint8_t* output = nullptr;  ///< Receives zeros unless the status is RSA_DONE.
  rsa_status status = RSA_WRONG;
};

/// Runs operations. Each thread has its own worker.
class IfmaWorker {
 public:
  /// Throws std::system_error if the operating system refuses the locked memory (about 150 KiB).
  IfmaWorker();

  /// Runs at most kMostTogether operations with keys of one size. A key may occur several times. Throws
  /// std::system_error if the operating system gives no random bytes; the outputs then have zeros.
  void run(std::span<Operation> operations);

 private:
  SecretMemory scratch_;
};

}  // namespace penumbra::rsa
