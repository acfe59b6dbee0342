// SPDX-License-Identifier: Apache-2.0
//
// The combinations of algorithms that tests of the ciphers go through, with keys and random bytes for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "crypto/key_material.h"
#include "crypto/openssl_oracle.h"

namespace penumbra::crypto_testing {

inline Bytes random_bytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

/// A combination of algorithms, with the tag of ESP.
struct Suite {
  std::string name;
  cipher_algorithm cipher;
  std::size_t secret_bytes;
  std::uint32_t digest;
  std::uint32_t tag_bytes;
};

inline std::ostream& operator<<(std::ostream& out, const Suite& suite) {
  return out << suite.name;
}

inline std::vector<Suite> suites() {
  std::vector<Suite> all{
      {"Gcm128", CIPHER_AES_GCM, 16, 0, 16},
      {"Gcm256", CIPHER_AES_GCM, 32, 0, 16},
      {"Gcm128Tag8", CIPHER_AES_GCM, 16, 0, 8},
      {"Gcm256Tag12", CIPHER_AES_GCM, 32, 0, 12},
      {"Gmac128", CIPHER_AES_GMAC, 16, 0, 16},
      {"Gmac256", CIPHER_AES_GMAC, 32, 0, 16},
      {"ChaCha20Poly1305", CIPHER_CHACHA20_POLY1305, 32, 0, 16},
      {"Cbc128Alone", CIPHER_AES_CBC, 16, 0, 0},
      {"Cbc256Alone", CIPHER_AES_CBC, 32, 0, 0},
      {"Ctr128Alone", CIPHER_AES_CTR, 16, 0, 0},
      {"Ctr256Alone", CIPHER_AES_CTR, 32, 0, 0},
      {"Nothing", CIPHER_NONE, 0, 0, 0},
  };
  struct Digest {
    std::string name;
    std::uint32_t digest, tag_bytes, full_bytes;
  };
  for (const auto& [name, digest, tag, full] :
       {Digest{"Sha1", HMAC_SHA1, 12, 20}, Digest{"Sha256", HMAC_SHA256, 16, 32}, Digest{"Sha384", HMAC_SHA384, 24, 48},
        Digest{"Sha512", HMAC_SHA512, 32, 64}}) {
    all.push_back({"Null" + name, CIPHER_NONE, 0, digest, tag});
    all.push_back({"Null" + name + "Full", CIPHER_NONE, 0, digest, full});
    all.push_back({"Null" + name + "Tag5", CIPHER_NONE, 0, digest, 5});
    for (const std::size_t bytes : {16U, 32U}) {
      all.push_back({"Cbc" + std::to_string(8 * bytes) + name, CIPHER_AES_CBC, bytes, digest, tag});
      all.push_back({"Ctr" + std::to_string(8 * bytes) + name, CIPHER_AES_CTR, bytes, digest, tag});
    }
  }
  return all;
}

/// A key that owns its bytes.
class OwnedMaterial {
 public:
  OwnedMaterial(const Suite& suite, Random& random)
      : secret_(random_bytes(random, suite.secret_bytes)),
        digest_secret_(random_bytes(random, suite.digest == 0 ? 0 : random.below(200))),
        material_{.cipher = suite.cipher,
                  .digest = suite.digest,
                  .secret = secret_,
                  .digest_secret = digest_secret_,
                  .salt = {},
                  .tag_bytes = suite.tag_bytes} {}
  OwnedMaterial(OwnedMaterial&&) = default;

  const KeyMaterial& get() const { return material_; }

 private:
  Bytes secret_, digest_secret_;
  KeyMaterial material_;
};

}  // namespace penumbra::crypto_testing
