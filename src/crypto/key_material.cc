// SPDX-License-Identifier: Apache-2.0
#include "crypto/key_material.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "crypto/aes/key.h"
#include "crypto/secret_memory.h"

namespace penumbra {
namespace {

constexpr std::uint32_t kLeastTag = 4;

bool is_aes(cipher_algorithm cipher) {
  return cipher != CIPHER_NONE && cipher != CIPHER_CHACHA20_POLY1305;
}

/// Returns the bytes of the full tag; 0 if the key authenticates nothing.
std::uint32_t full_tag_bytes(const KeyMaterial& material) {
  switch (material.cipher) {
    case CIPHER_AES_GCM:
    case CIPHER_AES_GMAC:
      return AES_GCM_TAG;
    case CIPHER_CHACHA20_POLY1305:
      return POLY1305_TAG;
    default:
      return material.digest == 0 ? 0 : hmac_tag_bytes(material.digest);
  }
}

void require(bool holds, const char* otherwise) {
  if (!holds) throw std::invalid_argument(otherwise);
}

}  // namespace

void check(const KeyMaterial& material) {
  const std::size_t bytes = material.secret.size();
  require(material.cipher <= CIPHER_CHACHA20_POLY1305, "unknown cipher");
  require(material.digest <= HMAC_SHA512, "unknown digest");
  require(!is_aes(material.cipher) || bytes == 16 || bytes == 32, "a key of AES has 16 or 32 bytes");
  require(material.cipher != CIPHER_CHACHA20_POLY1305 || bytes == CHACHA20_KEY, "a key of ChaCha20 has 32 bytes");
  require(material.cipher != CIPHER_NONE || bytes == 0, "a key without a cipher has no secret of a cipher");
  require(material.cipher < CIPHER_AES_GCM || material.digest == 0, "a cipher that authenticates takes no digest");
  require(material.digest != 0 || material.digest_secret.empty(), "a key without a digest has no secret of a digest");
  require(material.salt.empty() || material.salt.size() == CIPHER_SALT, "a salt has 4 bytes");
  const std::uint32_t full = full_tag_bytes(material);
  require(full == 0 ? material.tag_bytes == 0 : material.tag_bytes >= kLeastTag && material.tag_bytes <= full,
          "the tag has a length that the algorithm does not have");
}

void expand(const KeyMaterial& material, cipher_key& key) {
  check(material);
  erase_bytes(&key, sizeof key);
  key.is_set = 1;
  key.cipher = static_cast<std::uint8_t>(material.cipher);
  key.digest = static_cast<std::uint8_t>(material.digest);
  key.tag_bytes = static_cast<std::uint8_t>(material.tag_bytes);
  if (!material.salt.empty()) std::memcpy(key.salt, material.salt.data(), sizeof key.salt);
  const auto bytes = static_cast<std::uint32_t>(material.secret.size());
  if (is_aes(material.cipher)) {
    aes_expand(&key.secret.aes, material.secret.data(), bytes);
    if (material.cipher == CIPHER_AES_GCM || material.cipher == CIPHER_AES_GMAC) {
      aes_gcm_hash_key(&key.secret.aes, key.authentication.gcm);
    }
  } else {
    std::ranges::copy(material.secret, key.secret.chacha20);
  }
  if (material.digest != 0) {
    hmac_expand(&key.authentication.hmac, material.digest, material.digest_secret.data(),
                static_cast<std::uint32_t>(material.digest_secret.size()));
  }
}

}  // namespace penumbra
