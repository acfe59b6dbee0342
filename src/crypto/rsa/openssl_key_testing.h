// SPDX-License-Identifier: Apache-2.0
//
// Keys that OpenSSL generates for tests of RSA, and OpenSSL's results.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <utility>
#include <vector>

#include "crypto/rsa/key.h"
#include "crypto/rsa/key_testing.h"

namespace penumbra::rsa {

using Bytes = std::vector<std::uint8_t>;

struct FreePkey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Pkey = std::unique_ptr<EVP_PKEY, FreePkey>;

inline Bytes number_of(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, name, &number), 1) << name;
  Bytes bytes(static_cast<std::size_t>(BN_num_bytes(number)));
  BN_bn2bin(number, bytes.data());
  BN_free(number);
  return bytes;
}

/// A key of OpenSSL and its parts.
struct TestKey {
  explicit TestKey(Pkey from)
      : pkey(std::move(from)),
        modulus(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_N)),
        public_exponent(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_E)),
        prime1(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_FACTOR1)),
        prime2(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_FACTOR2)),
        exponent1(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_EXPONENT1)),
        exponent2(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_EXPONENT2)),
        coefficient(number_of(pkey.get(), OSSL_PKEY_PARAM_RSA_COEFFICIENT1)) {}

  KeyParts parts() const { return {modulus, public_exponent, prime1, prime2, exponent1, exponent2, coefficient}; }
  /// Returns the raw private operation of OpenSSL.
  Bytes oracle(const Bytes& input) const {
    Bytes output(input.size());
    std::size_t bytes = output.size();
    EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new(pkey.get(), nullptr);
    EXPECT_EQ(EVP_PKEY_decrypt_init(context), 1);
    EXPECT_EQ(EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING), 1);
    EXPECT_EQ(EVP_PKEY_decrypt(context, output.data(), &bytes, input.data(), input.size()), 1);
    EVP_PKEY_CTX_free(context);
    return output;
  }

  Pkey pkey;
  Bytes modulus, public_exponent, prime1, prime2, exponent1, exponent2, coefficient;
};

/// Returns keys of a size, which all tests share.
inline const std::vector<TestKey>& keys_of(unsigned bits) {
  static std::map<unsigned, std::vector<TestKey>> all;
  std::vector<TestKey>& keys = all[bits];
  const std::size_t wanted = std::getenv("PENUMBRA_LONG") == nullptr ? 1 : 100;
  while (keys.size() < wanted) keys.emplace_back(Pkey(EVP_RSA_gen(bits)));
  return keys;
}

inline rsa_key expanded(const KeyParts& parts) {
  rsa_key key;
  expand(parts, key);
  return key;
}

inline KeyParts fixed_parts() {
  return {kModulus, kPublicExponent, kPrime1, kPrime2, kExponent1, kExponent2, kCoefficient};
}

/// Random numbers from a fixed seed.
inline Bytes random_bytes(std::size_t count) {
  static std::mt19937 engine(1);
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(engine());
  return bytes;
}

/// Returns inputs below the modulus, among them the extremes.
inline std::vector<Bytes> inputs_of(const TestKey& key, std::size_t count) {
  const std::size_t bytes = key.modulus.size();
  Bytes one(bytes), most = key.modulus;
  one.back() = 1;
  --most.back();
  std::vector<Bytes> inputs{Bytes(bytes), one, most};
  while (inputs.size() < count) {
    inputs.push_back(random_bytes(bytes));
    inputs.back().front() &= 0x7F;
  }
  return inputs;
}

struct Answer {
  std::uint32_t status;
  Bytes output;
  bool operator==(const Answer&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  return out << "status " << answer.status << ", first byte " << +answer.output.front();
}

}  // namespace penumbra::rsa
