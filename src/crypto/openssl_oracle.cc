// SPDX-License-Identifier: Apache-2.0
#include "crypto/openssl_oracle.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace penumbra::crypto_testing {
namespace {

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

void require(int result, const char* what) {
  if (result <= 0) throw std::runtime_error(std::string("OpenSSL refuses ") + what);
}

const EVP_CIPHER* evp_cipher(const KeyMaterial& material) {
  const bool is_short = material.secret.size() == 16;
  switch (material.cipher) {
    case CIPHER_AES_CBC:
      return is_short ? EVP_aes_128_cbc() : EVP_aes_256_cbc();
    case CIPHER_AES_CTR:
      return is_short ? EVP_aes_128_ctr() : EVP_aes_256_ctr();
    case CIPHER_AES_GCM:
    case CIPHER_AES_GMAC:
      return is_short ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    default:
      return EVP_chacha20_poly1305();
  }
}

const EVP_MD* evp_digest(std::uint32_t digest) {
  switch (digest) {
    case HMAC_SHA1:
      return EVP_sha1();
    case HMAC_SHA256:
      return EVP_sha256();
    case HMAC_SHA384:
      return EVP_sha384();
    default:
      return EVP_sha512();
  }
}

bool has_own_tag(cipher_algorithm cipher) {
  return cipher == CIPHER_AES_GCM || cipher == CIPHER_AES_GMAC || cipher == CIPHER_CHACHA20_POLY1305;
}

void update(EVP_CIPHER_CTX* context, std::uint8_t* to, const Bytes& from) {
  int written = 0;
  if (!from.empty()) {
    require(EVP_EncryptUpdate(context, to, &written, from.data(), static_cast<int>(from.size())), "bytes");
  }
}

Sealed encipher(const KeyMaterial& material, const Message& message) {
  if (material.cipher == CIPHER_NONE) return {message.payload, {}};
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  require(EVP_EncryptInit_ex(context.get(), evp_cipher(material), nullptr, nullptr, nullptr), "the cipher");
  if (has_own_tag(material.cipher)) {
    require(
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_IVLEN, static_cast<int>(message.nonce.size()), nullptr),
        "the length of the nonce");
  }
  Bytes nonce = message.nonce;
  if (material.cipher == CIPHER_AES_CTR) nonce.insert(nonce.end(), {0, 0, 0, 1});
  require(EVP_EncryptInit_ex(context.get(), nullptr, nullptr, material.secret.data(), nonce.data()), "the key");
  EVP_CIPHER_CTX_set_padding(context.get(), 0);
  Sealed sealed;
  sealed.payload.resize(message.payload.size());
  if (has_own_tag(material.cipher)) update(context.get(), nullptr, message.aad);
  if (material.cipher == CIPHER_AES_GMAC) {
    update(context.get(), nullptr, message.payload);
    sealed.payload = message.payload;
  } else {
    update(context.get(), sealed.payload.data(), message.payload);
  }
  std::uint8_t last[32];
  int written = 0;
  require(EVP_EncryptFinal_ex(context.get(), last, &written), "the end");
  if (has_own_tag(material.cipher)) {
    sealed.tag.resize(16);
    require(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, 16, sealed.tag.data()), "the tag");
  }
  return sealed;
}

}  // namespace

Sealed openssl_seal(const KeyMaterial& material, const Message& message) {
  Sealed sealed = encipher(material, message);
  if (material.digest != 0) {
    Bytes all = message.aad;
    all.insert(all.end(), sealed.payload.begin(), sealed.payload.end());
    all.insert(all.end(), message.trailer.begin(), message.trailer.end());
    const std::uint8_t none = 0;  // HMAC() takes no null pointer as an empty key.
    const bool is_empty = material.digest_secret.empty();
    sealed.tag.resize(EVP_MAX_MD_SIZE);
    unsigned size = 0;
    if (HMAC(evp_digest(material.digest), is_empty ? &none : material.digest_secret.data(),
             static_cast<int>(material.digest_secret.size()), all.data(), all.size(), sealed.tag.data(),
             &size) == nullptr) {
      throw std::runtime_error("OpenSSL refuses HMAC");
    }
  }
  sealed.tag.resize(material.tag_bytes);
  return sealed;
}

}  // namespace penumbra::crypto_testing
