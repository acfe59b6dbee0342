// SPDX-License-Identifier: Apache-2.0
#include "key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <span>
#include <vector>

#include "crypto/rsa/private_key.h"
#include "crypto/rsa_engine/message.h"
#include "crypto/secret_memory.h"

namespace penumbra::tls {
namespace {

/// Bytes of a number of a key, erased afterwards.
class PartOfKey {
 public:
  PartOfKey(const EVP_PKEY* key, const char* name) {
    BIGNUM* number = nullptr;
    // A part that a key does not have is no error of the application's call.
    ERR_set_mark();
    EVP_PKEY_get_bn_param(key, name, &number);
    ERR_pop_to_mark();
    if (number == nullptr) return;
    const SecretNumber owner(number);
    bytes_.resize(static_cast<std::size_t>(BN_num_bytes(number)));
    BN_bn2bin(number, bytes_.data());
  }
  ~PartOfKey() {
    if (exists()) erase_bytes(bytes_.data(), bytes_.size());
  }
  PartOfKey(const PartOfKey&) = delete;
  PartOfKey& operator=(const PartOfKey&) = delete;

  bool exists() const { return !bytes_.empty(); }
  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

Key::Key(Pkey pkey)
    : pkey_(std::move(pkey)), is_reference_(rsa::is_reference(PartOfKey(pkey_.get(), OSSL_PKEY_PARAM_RSA_D).bytes())) {}

bool Key::has_private() const {
  return PartOfKey(pkey_.get(), OSSL_PKEY_PARAM_RSA_D).exists();
}

/// Passes the parts of the key, or the public ones of a reference, to a receiver. Returns false if a key has no two
/// primes with their exponents.
bool Key::pass_parts(const std::function<void(const rsa::KeyParts&)>& receiver) const {
  const EVP_PKEY* const key = pkey_.get();
  if (PartOfKey(key, OSSL_PKEY_PARAM_RSA_FACTOR3).exists()) return false;
  const PartOfKey modulus(key, OSSL_PKEY_PARAM_RSA_N), public_exponent(key, OSSL_PKEY_PARAM_RSA_E);
  if (is_reference_) {
    rsa::KeyParts public_parts;
    public_parts.modulus = modulus.bytes();
    public_parts.public_exponent = public_exponent.bytes();
    receiver(public_parts);
    return true;
  }
  const PartOfKey prime1(key, OSSL_PKEY_PARAM_RSA_FACTOR1), prime2(key, OSSL_PKEY_PARAM_RSA_FACTOR2);
  const PartOfKey exponent1(key, OSSL_PKEY_PARAM_RSA_EXPONENT1), exponent2(key, OSSL_PKEY_PARAM_RSA_EXPONENT2);
  const PartOfKey coefficient(key, OSSL_PKEY_PARAM_RSA_COEFFICIENT1);
  if (!prime1.exists() || !exponent1.exists() || !coefficient.exists()) return false;
  receiver({modulus.bytes(), public_exponent.bytes(), prime1.bytes(), prime2.bytes(), exponent1.bytes(),
            exponent2.bytes(), coefficient.bytes()});
  return true;
}

bool Key::expand(rsa_key& expanded) const {
  try {
    return pass_parts([&expanded](const rsa::KeyParts& parts) { rsa::expand(parts, expanded); });
  } catch (const std::exception&) {
    return false;
  }
}

std::size_t Key::write(std::span<std::uint8_t> room) const {
  std::size_t bytes = 0;
  pass_parts([&](const rsa::KeyParts& parts) { bytes = rsa_engine::write_key(room, parts); });
  return bytes;
}

bool Key::is_taken() {
  std::call_once(checked_, [this] {
    try {
      const SecretArray<rsa_key> expanded(1);
      is_taken_ = expand(expanded.span()[0]);
    } catch (const std::exception&) {
      is_taken_ = false;
    }
  });
  return is_taken_;
}

rsa::IfmaKey* Key::for_thread(unsigned thread) {
  Expansion& own = expansions_[thread];
  const pid_t process = getpid();
  if (own.key != nullptr && own.process == process) return own.key.get();
  try {
    const SecretArray<rsa_key> expanded(1);
    own.key.reset();
    if (expand(expanded.span()[0])) own.key = std::make_unique<rsa::IfmaKey>(expanded[0]);
    own.process = process;
  } catch (const std::exception&) {
    return nullptr;
  }
  return own.key.get();
}

bool Key::run_alone(OSSL_LIB_CTX* library, const unsigned char* input, unsigned char* output) const {
  std::size_t length = bytes();
  const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library, pkey_.get(), nullptr));
  return context != nullptr && EVP_PKEY_decrypt_init(context.get()) > 0 &&
         EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_NO_PADDING) > 0 &&
         EVP_PKEY_decrypt(context.get(), output, &length, input, length) > 0;
}

bool Key::is_result(OSSL_LIB_CTX* library, const unsigned char* input, const unsigned char* output) const {
  std::array<unsigned char, RSA_MOST_WORDS * sizeof(std::uint32_t)> same;
  std::size_t length = bytes();
  const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library, pkey_.get(), nullptr));
  return context != nullptr && EVP_PKEY_encrypt_init(context.get()) > 0 &&
         EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_NO_PADDING) > 0 &&
         EVP_PKEY_encrypt(context.get(), same.data(), &length, output, length) > 0 &&
         std::equal(input, input + length, same.begin());
}

}  // namespace penumbra::tls
