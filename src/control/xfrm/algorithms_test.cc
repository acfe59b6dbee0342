// SPDX-License-Identifier: Apache-2.0
#include "control/xfrm/algorithms.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>

#include "control/xfrm/refused.h"

namespace penumbra::control::xfrm {
namespace {

int error_of(Algorithm algorithm, AlgorithmKind kind, bool has_tag = true) {
  try {
    complete(algorithm, kind, has_tag);
    return 0;
  } catch (const Refused& refused) {
    return refused.error();
  }
}

TEST(Algorithms, TakeTheNamesThatDaemonsSend) {
  Algorithm aes{.name = "aes", .key_bits = 128};
  complete(aes, AlgorithmKind::cipher, false);
  EXPECT_EQ(aes.name, "cbc(aes)");
  Algorithm sha1{.name = "sha1", .key_bits = 160};
  complete(sha1, AlgorithmKind::digest, false);
  EXPECT_EQ(sha1, (Algorithm{"hmac(sha1)", 160, 96}));
  Algorithm sha256{.name = "hmac(sha256)", .key_bits = 256, .tag_bits = 128};
  complete(sha256, AlgorithmKind::digest, true);
  EXPECT_EQ(sha256.tag_bits, 128U);
}

TEST(Algorithms, RefuseWhatTheyDoNotHave) {
  EXPECT_EQ(error_of({"rfc4309(ccm(aes))", 152, 64}, AlgorithmKind::aead), ENOSYS);
  EXPECT_EQ(error_of({"rfc4106(gcm(aes))", 160, 120}, AlgorithmKind::aead), ENOSYS);
  EXPECT_EQ(error_of({"rfc4106(gcm(aes))", 224, 128}, AlgorithmKind::aead), EINVAL);
  EXPECT_EQ(error_of({"rfc4106(gcm(aes))", 161, 128}, AlgorithmKind::aead), EINVAL);
  EXPECT_EQ(error_of({"rfc4106(gcm(aes))", 288, 64}, AlgorithmKind::aead), 0);
  EXPECT_EQ(error_of({"cbc(aes)", 192, 0}, AlgorithmKind::cipher), EINVAL);
  EXPECT_EQ(error_of({"ecb(cipher_null)", 8, 0}, AlgorithmKind::cipher), EINVAL);
  EXPECT_EQ(error_of({"hmac(sha1)", 0, 96}, AlgorithmKind::digest), EINVAL);
  EXPECT_EQ(error_of({"hmac(sha1)", 2048, 96}, AlgorithmKind::digest), EINVAL);
  EXPECT_EQ(error_of({"hmac(sha1)", 160, 168}, AlgorithmKind::digest), EINVAL);
  EXPECT_EQ(error_of({"hmac(sha1)", 160, 32}, AlgorithmKind::digest), EINVAL);
  EXPECT_EQ(error_of({"hmac(sha1)", 0xFFFFFFFF, 96}, AlgorithmKind::digest), EINVAL);
}

TEST(Algorithms, NeedAuthentication) {
  Algorithms used;
  used.cipher = Algorithm{"cbc(aes)", 128, 0};
  EXPECT_THROW(check_together(used), Refused);
  used.digest = Algorithm{"hmac(sha1)", 160, 96};
  check_together(used);
  EXPECT_FALSE(needs_unique_iv(used));
  used.cipher->name = "rfc3686(ctr(aes))";
  EXPECT_TRUE(needs_unique_iv(used));
}

TEST(Algorithms, GiveKeysThatTheCryptoLibraryTakes) {
  struct Case {
    AlgorithmKind kind;
    Algorithm algorithm;
    std::size_t secret, salt;
  };
  const Case cases[] = {{AlgorithmKind::aead, {"rfc4106(gcm(aes))", 160, 96}, 16, 4},
                        {AlgorithmKind::aead, {"rfc4543(gcm(aes))", 288, 128}, 32, 4},
                        {AlgorithmKind::aead, {"rfc7539esp(chacha20,poly1305)", 288, 128}, 32, 4},
                        {AlgorithmKind::cipher, {"cbc(aes)", 256, 0}, 32, 0},
                        {AlgorithmKind::cipher, {"rfc3686(ctr(aes))", 160, 0}, 16, 4},
                        {AlgorithmKind::cipher, {"ecb(cipher_null)", 0, 0}, 0, 0}};
  KeyStore store;
  for (const Case& one : cases) {
    Sa sa;
    sa.keys = store.allocate();
    std::iota(std::begin(sa.keys->cipher), std::end(sa.keys->cipher), std::uint8_t{1});
    Algorithm algorithm = one.algorithm;
    complete(algorithm, one.kind, true);
    if (one.kind == AlgorithmKind::aead) {
      sa.settings.algorithms.aead = algorithm;
    } else {
      sa.settings.algorithms.cipher = algorithm;
      sa.settings.algorithms.digest = Algorithm{"hmac(sha512)", 512, 256};
    }
    const KeyMaterial material = key_material(sa);
    check(material);
    EXPECT_EQ(material.secret.size(), one.secret);
    ASSERT_EQ(material.salt.size(), one.salt);
    if (one.salt != 0) {
      EXPECT_EQ(material.salt[0], one.secret + 1);
    }
  }
}

TEST(KeyStore, ErasesKeysThatAreReleased) {
  KeyStore store;
  const std::uint8_t* place = nullptr;
  {
    const KeyHandle key = store.allocate();
    key->cipher[5] = 42;
    place = &key->cipher[5];
    EXPECT_EQ(store.used(), 1U);
  }
  EXPECT_EQ(store.used(), 0U);
  EXPECT_EQ(*place, 0);  // The store keeps the page.
}

}  // namespace
}  // namespace penumbra::control::xfrm
