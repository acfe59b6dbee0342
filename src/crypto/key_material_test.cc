// SPDX-License-Identifier: Apache-2.0
#include "crypto/key_material.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace penumbra {
namespace {

const std::vector<std::uint8_t> kSecret(64, 7);

std::span<const std::uint8_t> bytes(std::size_t count) {
  return std::span(kSecret).first(count);
}

cipher_key expanded(const KeyMaterial& material) {
  cipher_key key;
  expand(material, key);
  return key;
}

TEST(KeyMaterial, IsRefusedIfALengthDoesNotFit) {
  const std::vector<KeyMaterial> wrong{
      {.cipher = CIPHER_AES_GCM, .secret = bytes(15), .tag_bytes = 16},
      {.cipher = CIPHER_AES_GCM, .secret = bytes(24), .tag_bytes = 16},
      {.cipher = CIPHER_AES_GCM, .secret = bytes(16), .tag_bytes = 17},
      {.cipher = CIPHER_AES_GCM, .secret = bytes(16), .tag_bytes = 3},
      {.cipher = CIPHER_AES_GCM, .digest = HMAC_SHA1, .secret = bytes(16), .tag_bytes = 12},
      {.cipher = CIPHER_AES_CBC, .secret = bytes(16), .tag_bytes = 12},
      {.cipher = CIPHER_AES_CBC, .secret = bytes(16), .digest_secret = bytes(20)},
      {.cipher = CIPHER_AES_CBC, .digest = HMAC_SHA1, .secret = bytes(16), .tag_bytes = 21},
      {.cipher = CIPHER_AES_CBC, .digest = HMAC_SHA512 + 1, .secret = bytes(16), .tag_bytes = 16},
      {.cipher = CIPHER_CHACHA20_POLY1305, .secret = bytes(16), .tag_bytes = 16},
      {.cipher = CIPHER_NONE, .digest = HMAC_SHA1, .secret = bytes(16), .tag_bytes = 12},
      {.cipher = CIPHER_AES_CTR, .secret = bytes(16), .salt = bytes(3)},
      {.cipher = static_cast<cipher_algorithm>(CIPHER_CHACHA20_POLY1305 + 1), .secret = bytes(16), .tag_bytes = 16},
  };
  for (const KeyMaterial& material : wrong) {
    EXPECT_THROW(expanded(material), std::invalid_argument) << &material - wrong.data();
  }
}

TEST(KeyMaterial, IsTakenAtTheLimits) {
  const std::vector<KeyMaterial> right{
      {.cipher = CIPHER_AES_GCM, .secret = bytes(32), .salt = bytes(4), .tag_bytes = 4},
      {.cipher = CIPHER_AES_GMAC, .secret = bytes(16), .tag_bytes = 16},
      {.cipher = CIPHER_AES_CBC, .secret = bytes(16)},
      {.cipher = CIPHER_NONE, .digest = HMAC_SHA512, .digest_secret = bytes(64), .tag_bytes = 64},
      {.cipher = CIPHER_NONE, .digest = HMAC_SHA1, .tag_bytes = 20},
      {.cipher = CIPHER_NONE},
  };
  for (const KeyMaterial& material : right) EXPECT_NO_THROW(expanded(material)) << &material - right.data();
}

static_assert(sizeof(cipher_key) == 384);

TEST(KeyMaterial, KeepsTheKeyThatItCannotReplace) {
  cipher_key key = expanded({.cipher = CIPHER_AES_CBC, .secret = bytes(16)});
  EXPECT_THROW(expand({.cipher = CIPHER_AES_CBC, .secret = bytes(17)}, key), std::invalid_argument);
  EXPECT_EQ(key.secret.aes.rounds, 10U);
}

TEST(KeyMaterial, GivesNoncesOfEspFromSaltAndIv) {
  const std::array<std::uint8_t, 4> salt{1, 2, 3, 4};
  const cipher_key key = expanded({.cipher = CIPHER_AES_GCM, .secret = bytes(16), .salt = salt, .tag_bytes = 16});
  const std::array<std::uint8_t, 8> iv{5, 6, 7, 8, 9, 10, 11, 12};
  std::array<std::uint8_t, 12> nonce{};
  cipher_esp_nonce(&key, iv.data(), nonce.data());
  for (std::size_t i = 0; i < nonce.size(); ++i) EXPECT_EQ(nonce[i], i + 1);
}

// FIPS 197, appendices A.1 and A.3: the last words of the expanded keys.
TEST(KeyMaterial, ExpandsKeysOfAes) {
  std::array<std::uint8_t, 32> secret{0x2B, 0x7E, 0x15, 0x16, 0x28, 0xAE, 0xD2, 0xA6,
                                      0xAB, 0xF7, 0x15, 0x88, 0x09, 0xCF, 0x4F, 0x3C};
  const cipher_key short_key = expanded({.cipher = CIPHER_AES_CBC, .secret = std::span(secret).first(16)});
  EXPECT_EQ(short_key.secret.aes.rounds, 10U);
  EXPECT_EQ(read_be32(&short_key.secret.aes.round_key[172]), 0xB6630CA6U);
  secret = {0x60, 0x3D, 0xEB, 0x10, 0x15, 0xCA, 0x71, 0xBE, 0x2B, 0x73, 0xAE, 0xF0, 0x85, 0x7D, 0x77, 0x81,
            0x1F, 0x35, 0x2C, 0x07, 0x3B, 0x61, 0x08, 0xD7, 0x2D, 0x98, 0x10, 0xA3, 0x09, 0x14, 0xDF, 0xF4};
  const cipher_key long_key = expanded({.cipher = CIPHER_AES_CBC, .secret = secret});
  EXPECT_EQ(long_key.secret.aes.rounds, 14U);
  EXPECT_EQ(read_be32(&long_key.secret.aes.round_key[236]), 0x706C631EU);
}

}  // namespace
}  // namespace penumbra
