// SPDX-License-Identifier: Apache-2.0
//
// Runs private operations of RSA with a key that valgrind takes for undefined. Memcheck then reports every branch and
// every address that depends on it (tests/test_crypto.py runs this program). The IFMA form has emulated lanes here.
//
//   rsa_secrets_check plain|ifma
//
// Exits with 1 if a result is wrong, and with 77 without valgrind or its headers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "crypto/rsa/ifma.h"
#include "crypto/rsa/key.h"
#include "crypto/rsa/key_testing.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>

namespace penumbra::rsa {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <std::size_t kCount>
Bytes secret(const std::uint8_t (&bytes)[kCount]) {
  Bytes copy(bytes, bytes + kCount);
  VALGRIND_MAKE_MEM_UNDEFINED(copy.data(), copy.size());
  return copy;
}

/// Returns whether memcheck follows the secrets into the bytes.
bool is_secret(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> undefined_bits(bytes.size());
  VALGRIND_GET_VBITS(bytes.data(), undefined_bits.data(), bytes.size());
  return std::ranges::all_of(undefined_bits, [](std::uint8_t bits) { return bits == 0xFF; });
}

Bytes by_plain(const rsa_key& key, const Bytes& input, bool& is_done) {
  std::uint32_t number[RSA_MOST_WORDS], result[RSA_MOST_WORDS], random[RSA_MOST_WORDS];
  std::fill_n(random, key.words, 0x01234567U);
  VALGRIND_MAKE_MEM_UNDEFINED(random, sizeof random);
  auto pair = std::make_unique<rsa_pair>();
  rsa_make_pair(pair.get(), random, &key);
  words_of(input, {number, key.words});
  std::uint32_t status = rsa_private(result, number, &key, pair.get());
  VALGRIND_MAKE_MEM_DEFINED(&status, sizeof status);
  is_done = status == RSA_DONE;
  Bytes output(input.size());
  bytes_of({result, key.words}, output);
  return output;
}

Bytes by_ifma(const rsa_key& key, const Bytes& input, bool& is_done) {
  IfmaKey digits(key);
  IfmaWorker worker;
  Bytes output(input.size());
  Operation operation{.key = &digits, .input = input.data(), .output = output.data()};
  worker.run({&operation, 1});
  is_done = operation.status == RSA_DONE;
  return output;
}

int run(const std::string& form) {
  const Bytes prime1 = secret(kPrime1), prime2 = secret(kPrime2), exponent1 = secret(kExponent1);
  const Bytes exponent2 = secret(kExponent2), coefficient = secret(kCoefficient);
  rsa_key key;
  expand({.modulus = kModulus,
          .public_exponent = kPublicExponent,
          .prime1 = prime1,
          .prime2 = prime2,
          .exponent1 = exponent1,
          .exponent2 = exponent2,
          .coefficient = coefficient},
         key);
  const Bytes input(sizeof kModulus, 0x5C);
  bool is_done = false;
  const Bytes output = form == "plain" ? by_plain(key, input, is_done) : by_ifma(key, input, is_done);
  if (!is_done || !is_secret(output)) {
    std::fputs(is_done ? "memcheck lost sight of the key\n" : "the result is wrong\n", stderr);
    return 1;
  }
  std::puts("done");
  return 0;
}

}  // namespace
}  // namespace penumbra::rsa

int main(int count, char** words) {
  if (RUNNING_ON_VALGRIND == 0) return 77;
  const std::string form = count == 2 ? words[1] : "";
  if (form != "plain" && form != "ifma") {
    std::fputs("rsa_secrets_check: name plain or ifma\n", stderr);
    return 2;
  }
  return penumbra::rsa::run(form);
}

#else

int main() {
  return 77;
}

#endif
