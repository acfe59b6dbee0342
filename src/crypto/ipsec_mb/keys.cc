// SPDX-License-Identifier: Apache-2.0
#include "crypto/ipsec_mb/keys.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "crypto/secret_memory.h"

namespace penumbra::ipsec_mb {
namespace {

/// The functions of a digest: over a whole message, and over the first block only.
struct Digest {
  hash_fn_t whole;
  hash_one_block_t first_block;
};

Digest digest_of(const IMB_MGR& manager, std::uint32_t digest) {
  switch (digest) {
    case HMAC_SHA1:
      return {manager.sha1, manager.sha1_one_block};
    case HMAC_SHA256:
      return {manager.sha256, manager.sha256_one_block};
    case HMAC_SHA384:
      return {manager.sha384, manager.sha384_one_block};
    default:
      return {manager.sha512, manager.sha512_one_block};
  }
}

void expand_digest(const IMB_MGR& manager, const KeyMaterial& material, ComposedKey& key) {
  const Digest digest = digest_of(manager, material.digest);
  std::uint8_t block[MESSAGE_MOST_BLOCK] = {};
  if (material.digest_secret.size() > digest_block(material.digest)) {
    digest.whole(material.digest_secret.data(), material.digest_secret.size(), block);
  } else {
    std::ranges::copy(material.digest_secret, block);
  }
  for (std::uint8_t& byte : block) byte ^= 0x36;
  digest.first_block(block, key.inner);
  for (std::uint8_t& byte : block) byte ^= 0x36 ^ 0x5C;
  digest.first_block(block, key.outer);
  erase_bytes(block, sizeof block);
}

IMB_HASH_ALG hash_of(std::uint32_t digest) {
  constexpr IMB_HASH_ALG kAll[] = {IMB_AUTH_NULL, IMB_AUTH_HMAC_SHA_1, IMB_AUTH_HMAC_SHA_256, IMB_AUTH_HMAC_SHA_384,
                                   IMB_AUTH_HMAC_SHA_512};
  return kAll[digest];
}

/// Returns the bytes of the tag that the library makes: those of ESP (RFC 2404, RFC 4868), or all.
std::uint32_t job_tag_bytes(const KeyMaterial& material) {
  const std::uint32_t full = hmac_tag_bytes(material.digest);
  const std::uint32_t of_esp = material.digest == HMAC_SHA1 ? 12 : full / 2;
  return material.tag_bytes == of_esp ? of_esp : full;
}

void describe_job(const KeyMaterial& material, Key& key) {
  key.job_cipher = IMB_CIPHER_NULL;
  key.job_hash = static_cast<std::uint8_t>(hash_of(material.digest));
  key.job_tag_bytes = static_cast<std::uint8_t>(material.digest == 0 ? 0 : job_tag_bytes(material));
  if (material.cipher == CIPHER_AES_CBC) key.job_cipher = IMB_CIPHER_CBC;
  if (material.cipher == CIPHER_AES_CTR) key.job_cipher = IMB_CIPHER_CNTR;
  if (material.cipher == CIPHER_CHACHA20_POLY1305) {
    key.job_cipher = IMB_CIPHER_CHACHA20_POLY1305;
    key.job_hash = IMB_AUTH_CHACHA20_POLY1305;
    key.job_tag_bytes = POLY1305_TAG;
  }
}

}  // namespace

void expand(IMB_MGR& manager, const KeyMaterial& material, Key& key) {
  check(material);
  erase_bytes(&key, sizeof key);
  const bool is_short = material.secret.size() == 16;
  switch (material.cipher) {
    case CIPHER_AES_GCM:
    case CIPHER_AES_GMAC:
      (is_short ? manager.gcm128_pre : manager.gcm256_pre)(material.secret.data(), &key.gcm);
      break;
    case CIPHER_AES_CBC:
    case CIPHER_AES_CTR:
      (is_short ? manager.keyexp_128 : manager.keyexp_256)(material.secret.data(), key.composed.encrypt,
                                                           key.composed.decrypt);
      break;
    default:
      std::ranges::copy(material.secret, key.chacha20);
  }
  if (material.digest != 0) expand_digest(manager, material, key.composed);
  key.cipher = static_cast<std::uint8_t>(material.cipher);
  key.digest = static_cast<std::uint8_t>(material.digest);
  key.tag_bytes = static_cast<std::uint8_t>(material.tag_bytes);
  key.secret_bytes = static_cast<std::uint8_t>(material.secret.size());
  describe_job(material, key);
  if (!material.salt.empty()) std::memcpy(key.salt, material.salt.data(), sizeof key.salt);
}

}  // namespace penumbra::ipsec_mb
