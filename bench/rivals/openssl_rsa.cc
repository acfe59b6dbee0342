// SPDX-License-Identifier: Apache-2.0
#include "rivals/openssl_rsa.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "crypto/rsa/key.h"

namespace penumbra::bench {

struct OpensslRsa::Handles {
  EVP_PKEY* key = nullptr;
  EVP_PKEY_CTX* context = nullptr;
};

OpensslRsa::OpensslRsa(unsigned bits) : handles_(std::make_unique<Handles>()) {
  handles_->key = EVP_RSA_gen(bits);
  handles_->context = EVP_PKEY_CTX_new(handles_->key, nullptr);
  if (handles_->context == nullptr || EVP_PKEY_decrypt_init(handles_->context) <= 0 ||
      EVP_PKEY_CTX_set_rsa_padding(handles_->context, RSA_NO_PADDING) <= 0) {
    throw std::runtime_error("OpenSSL makes no key");
  }
}

OpensslRsa::~OpensslRsa() {
  EVP_PKEY_CTX_free(handles_->context);
  EVP_PKEY_free(handles_->key);
}

std::string OpensslRsa::version() {
  return OpenSSL_version(OPENSSL_VERSION);
}

void OpensslRsa::expand(rsa_key& key) const {
  const auto part = [this](const char* name) {
    BIGNUM* number = nullptr;
    EVP_PKEY_get_bn_param(handles_->key, name, &number);
    if (number == nullptr) throw std::runtime_error("OpenSSL's key lacks a part");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(BN_num_bytes(number)));
    BN_bn2bin(number, bytes.data());
    BN_free(number);
    return bytes;
  };
  const auto modulus = part(OSSL_PKEY_PARAM_RSA_N), public_exponent = part(OSSL_PKEY_PARAM_RSA_E);
  const auto prime1 = part(OSSL_PKEY_PARAM_RSA_FACTOR1), prime2 = part(OSSL_PKEY_PARAM_RSA_FACTOR2);
  const auto exponent1 = part(OSSL_PKEY_PARAM_RSA_EXPONENT1), exponent2 = part(OSSL_PKEY_PARAM_RSA_EXPONENT2);
  const auto coefficient = part(OSSL_PKEY_PARAM_RSA_COEFFICIENT1);
  rsa::expand({modulus, public_exponent, prime1, prime2, exponent1, exponent2, coefficient}, key);
}

void OpensslRsa::run(std::span<const std::uint8_t> input, std::span<std::uint8_t> output) {
  std::size_t bytes = output.size();
  if (EVP_PKEY_decrypt(handles_->context, output.data(), &bytes, input.data(), input.size()) <= 0) {
    throw std::runtime_error("OpenSSL's private operation failed");
  }
}

}  // namespace penumbra::bench
