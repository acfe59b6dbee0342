// SPDX-License-Identifier: Apache-2.0
//
// The engine's own keys, and clients that name them.
#include "crypto/rsa_engine/own_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/scratch_folder.h"
#include "crypto/rsa/openssl_key_testing.h"
#include "crypto/rsa/private_key.h"
#include "crypto/rsa_engine/server_testing.h"

namespace penumbra::rsa_engine {
namespace {

using rsa::Bytes;
using rsa::TestKey;
using testing::HasSubstr;

rsa::KeyParts public_part(const TestKey& key) {
  rsa::KeyParts parts;
  parts.modulus = key.modulus;
  parts.public_exponent = key.public_exponent;
  return parts;
}

class OwnKeysTest : public ServerTest {
 protected:
  void write(const std::string& name, EVP_PKEY* key) const {
    const std::string path = folder_ / name;
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_EQ(PEM_write_PKCS8PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
    chmod(path.c_str(), 0600);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    chmod((folder_ / name).c_str(), 0600);
  }
  void expect_failure(const std::string& name, const std::string& reason) const {
    const std::string path = name.empty() ? folder_.path() : folder_ / name;
    EXPECT_THAT([this] { OwnKeys(folder_.path()); }, testing::ThrowsMessage<std::runtime_error>(testing::AllOf(
                                                         HasSubstr("'" + path + "'"), HasSubstr(reason))));
  }
  void start_with_keys() {
    stop();
    start({}, OwnKeys(folder_.path()));
  }

  const ScratchFolder folder_;
  const TestKey& large_ = rsa::keys_of(3072).front();
};

TEST_F(OwnKeysTest, AreFoundByTheirPublicPart) {
  write("a.pem", test_.pkey.get());
  write("b", large_.pkey.get());
  write("copy", large_.pkey.get());
  write(".hidden", std::string("garbage"));
  const OwnKeys keys(folder_.path());
  EXPECT_EQ(keys.size(), 2U);
  const auto found = keys.find(public_part(test_));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->bytes(), 256U);
  EXPECT_NE(keys.find(public_part(large_)), found);

  Bytes modulus = test_.modulus, exponent{0, 0, 0, 0, 1, 0, 1};
  modulus.insert(modulus.begin(), 3, 0);
  rsa::KeyParts parts = public_part(test_);
  parts.modulus = modulus;
  parts.public_exponent = exponent;
  EXPECT_EQ(keys.find(parts), found) << "leading zeros";
  modulus.back() ^= 2;
  EXPECT_EQ(keys.find(parts), nullptr) << "another modulus";
  parts.modulus = test_.modulus;
  exponent.back() = 3;
  EXPECT_EQ(keys.find(parts), nullptr) << "another public exponent";
  EXPECT_EQ(keys.find({}), nullptr);
  parts = public_part(test_);
  modulus = test_.modulus;
  modulus.insert(modulus.end(), test_.public_exponent.begin(), test_.public_exponent.end());
  parts.modulus = modulus;
  parts.public_exponent = {};
  EXPECT_EQ(keys.find(parts), nullptr) << "no public exponent";
}

/// Returns a key with the primes of another, and another public exponent.
rsa::Pkey with_other_exponent(const TestKey& key) {
  using Number = std::unique_ptr<BIGNUM, decltype(&BN_clear_free)>;
  const auto number = [](const Bytes& bytes) {
    return Number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr), &BN_clear_free);
  };
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), &BN_CTX_free);
  const Number n = number(key.modulus), p = number(key.prime1), q = number(key.prime2), e = number({0});
  const Number p1(BN_dup(p.get()), &BN_clear_free), q1(BN_dup(q.get()), &BN_clear_free), order = number({0});
  BN_sub_word(p1.get(), 1);
  BN_sub_word(q1.get(), 1);
  BN_mul(order.get(), p1.get(), q1.get(), context.get());
  Number d(nullptr, &BN_clear_free);
  for (BN_ULONG exponent = 257; d == nullptr; exponent += 2) {
    BN_set_word(e.get(), exponent);
    d.reset(BN_mod_inverse(nullptr, e.get(), order.get(), context.get()));
  }
  const Number dp = number({0}), dq = number({0}), coefficient = number(key.coefficient);
  BN_mod(dp.get(), d.get(), p1.get(), context.get());
  BN_mod(dq.get(), d.get(), q1.get(), context.get());
  OSSL_PARAM_BLD* const builder = OSSL_PARAM_BLD_new();
  const std::pair<const char*, const BIGNUM*> parts[] = {
      {OSSL_PKEY_PARAM_RSA_N, n.get()},          {OSSL_PKEY_PARAM_RSA_E, e.get()},
      {OSSL_PKEY_PARAM_RSA_D, d.get()},          {OSSL_PKEY_PARAM_RSA_FACTOR1, p.get()},
      {OSSL_PKEY_PARAM_RSA_FACTOR2, q.get()},    {OSSL_PKEY_PARAM_RSA_EXPONENT1, dp.get()},
      {OSSL_PKEY_PARAM_RSA_EXPONENT2, dq.get()}, {OSSL_PKEY_PARAM_RSA_COEFFICIENT1, coefficient.get()}};
  for (const auto& [name, part] : parts) OSSL_PARAM_BLD_push_BN(builder, name, part);
  OSSL_PARAM* const params = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX* const making = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
  EVP_PKEY* made = nullptr;
  EVP_PKEY_fromdata_init(making);
  EXPECT_EQ(EVP_PKEY_fromdata(making, &made, EVP_PKEY_KEYPAIR, params), 1);
  EVP_PKEY_CTX_free(making);
  OSSL_PARAM_free(params);
  OSSL_PARAM_BLD_free(builder);
  return rsa::Pkey(made);
}

TEST_F(OwnKeysTest, OfOneModulusMayHaveTwoPublicExponents) {
  const TestKey other(with_other_exponent(test_));
  write("a.pem", test_.pkey.get());
  write("b.pem", other.pkey.get());
  const OwnKeys keys(folder_.path());
  EXPECT_EQ(keys.size(), 2U);
  ASSERT_NE(keys.find(public_part(other)), nullptr);
  EXPECT_EQ(keys.find(public_part(other))->key().exponent, other.public_exponent[0] * 256U + other.public_exponent[1]);
  EXPECT_EQ(keys.find(public_part(test_))->key().exponent, 65'537U);
}

/// Returns the key in PEM of PKCS #1 after a change of a number that begins as `number` does.
std::string pem_with_change(const TestKey& key, const Bytes& number) {
  unsigned char* encoded = nullptr;
  const int bytes = i2d_PrivateKey(key.pkey.get(), &encoded);
  Bytes der(encoded, encoded + bytes);
  OPENSSL_free(encoded);
  const auto found = std::ranges::search(der, number);
  EXPECT_FALSE(found.empty());
  found.back() ^= 2;
  BIO* const out = BIO_new(BIO_s_mem());
  PEM_write_bio(out, "RSA PRIVATE KEY", "", der.data(), bytes);
  char* text = nullptr;
  const auto length = static_cast<std::size_t>(BIO_get_mem_data(out, &text));
  std::string pem(text, length);
  BIO_free(out);
  return pem;
}

TEST_F(OwnKeysTest, RefuseKeysWithWrongNumbers) {
  for (const Bytes* number : {&test_.exponent1, &test_.exponent2, &test_.coefficient}) {
    write("a.pem", pem_with_change(test_, *number));
    expect_failure("a.pem", "numbers do not fit each other");
  }
  for (const Bytes* number : {&test_.prime1, &test_.prime2, &test_.modulus}) {
    write("a.pem", pem_with_change(test_, *number));
    expect_failure("a.pem", "the primes do not make the modulus");
  }
  const Bytes private_exponent = rsa::number_of(test_.pkey.get(), OSSL_PKEY_PARAM_RSA_D);
  write("a.pem", pem_with_change(test_, private_exponent));
  EXPECT_EQ(OwnKeys(folder_.path()).size(), 1U) << "operations do not use it";
}

TEST_F(OwnKeysTest, RefuseWrongFiles) {
  expect_failure("", "has no key");
  write("curve", rsa::Pkey(EVP_EC_gen("P-256")).get());
  expect_failure("curve", "no RSA key");
  write("curve", rsa::Pkey(EVP_RSA_gen(1024)).get());
  expect_failure("curve", "2048, 3072 or 4096 bits");
  write("curve", rsa::write_reference(test_.parts()));
  expect_failure("curve", "is a reference");
  chmod((folder_ / "curve").c_str(), 0644);
  expect_failure("curve", "chmod 600");
  std::filesystem::remove(folder_ / "curve");
  std::filesystem::create_directory(folder_ / "inner");
  expect_failure("inner", "is no file");
}

TEST_F(OwnKeysTest, RefuseWrongFolders) {
  write("a.pem", test_.pkey.get());
  for (const mode_t mode : {0770U, 0707U, 0722U}) {
    chmod(folder_.path().c_str(), mode);
    expect_failure("", "may be changed by others than its owner; forbid it (chmod 700)");
  }
  EXPECT_THROW(OwnKeys(folder_ / "none"), std::runtime_error);
  EXPECT_THROW(OwnKeys(folder_ / "a.pem"), std::runtime_error);
}

TEST_F(OwnKeysTest, ServeReferencesOfEveryClient) {
  write("a.pem", test_.pkey.get());
  write("b.pem", large_.pkey.get());
  start_with_keys();
  EXPECT_EQ(counters().own_keys, 2U);
  for (std::uint32_t round = 0; round < 3; ++round) {
    TestClient first(path_), second(path_);
    first.open();
    second.open();
    ASSERT_TRUE(first.add_key(0, public_part(test_)));
    ASSERT_TRUE(first.add_key(1, public_part(large_)));
    ASSERT_TRUE(second.add_key(0, public_part(large_)));
    EXPECT_EQ(counters().references, 3U);
    EXPECT_EQ(counters().keys, 0U);
    expect_service(first, 0, test_, 1);
    expect_service(first, 1, large_, 2);
    first.send(MessageKind::remove_key, 1);
    expect_service(second, 0, large_, 3);
  }
  wait_until([this] { return counters().references == 0; });
}

TEST_F(OwnKeysTest, ServeOnlyReferences) {
  const TestKey other(rsa::Pkey(EVP_RSA_gen(2048)));
  write("a.pem", test_.pkey.get());
  start_with_keys();
  TestClient client(path_);
  client.open();
  EXPECT_FALSE(client.add_key(0, public_part(other))) << "the engine does not have the key";
  rsa::KeyParts partly = public_part(test_);
  partly.prime1 = other.prime1;
  EXPECT_FALSE(client.add_key(0, partly)) << "neither a key nor a reference";
  rsa::KeyParts mixed = other.parts();
  mixed.modulus = test_.modulus;
  EXPECT_FALSE(client.add_key(0, mixed));
  EXPECT_FALSE(client.add_key(0, {}));
  EXPECT_EQ(counters().refused_keys, 4U);
  ASSERT_TRUE(client.add_key(0, other.parts())) << "a key of the client";
  expect_service(client, 0, other, 1);
}

TEST_F(OwnKeysTest, ReferencesAndKeysOfClientsLeaveRoomForEachOther) {
  write("a.pem", test_.pkey.get());
  stop();
  start({.socket = {}, .group = {}, .most_keys = 2}, OwnKeys(folder_.path()));
  TestClient client(path_);
  client.open();
  for (std::uint32_t number = 0; number < 10; ++number) ASSERT_TRUE(client.add_key(number, public_part(test_)));
  ASSERT_TRUE(client.add_key(10, large_.parts()));
  ASSERT_FALSE(client.add_key(11, large_.parts())) << "one of the engine, and one of a client";
  ASSERT_TRUE(client.add_key(11, public_part(test_)));
  expect_service(client, 11, test_, 1);
  for (std::uint32_t number = 0; number < 10; ++number) client.send(MessageKind::remove_key, number);
  client.send(MessageKind::remove_key, 10);
  wait_until([this] { return counters().references == 1 && counters().keys == 0; });
}

TEST_F(OwnKeysTest, MustHaveRoom) {
  write("a.pem", test_.pkey.get());
  write("b.pem", large_.pkey.get());
  stop();
  EXPECT_THROW(start({.socket = {}, .group = {}, .most_keys = 1}, OwnKeys(folder_.path())), std::runtime_error);
  start({.socket = {}, .group = {}, .most_keys = 2}, OwnKeys(folder_.path()));
}

TEST_F(OwnKeysTest, AbsentKeysRefuseEveryReference) {
  TestClient client(path_);
  client.open();
  EXPECT_FALSE(client.add_key(0, public_part(test_)));
  expect_service();
}

}  // namespace
}  // namespace penumbra::rsa_engine
