// SPDX-License-Identifier: Apache-2.0
//
// The engine's own keys, and clients that name them.
#include "crypto/rsa_engine/own_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

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
    EXPECT_EQ(counters().keys, 3U);
    expect_service(first, 0, test_, 1);
    expect_service(first, 1, large_, 2);
    first.send(MessageKind::remove_key, 1);
    expect_service(second, 0, large_, 3);
  }
  wait_until([this] { return counters().keys == 0; });
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

TEST_F(OwnKeysTest, AreNotLimitedByKeysOfClients) {
  write("a.pem", test_.pkey.get());
  stop();
  start({.socket = {}, .group = {}, .most_keys = 1}, OwnKeys(folder_.path()));
  TestClient client(path_);
  client.open();
  ASSERT_TRUE(client.add_key(0, large_.parts()));
  ASSERT_FALSE(client.add_key(1, large_.parts()));
  ASSERT_TRUE(client.add_key(1, public_part(test_)));
  expect_service(client, 1, test_, 1);
}

TEST_F(OwnKeysTest, AbsentKeysRefuseEveryReference) {
  TestClient client(path_);
  client.open();
  EXPECT_FALSE(client.add_key(0, public_part(test_)));
  expect_service();
}

}  // namespace
}  // namespace penumbra::rsa_engine
