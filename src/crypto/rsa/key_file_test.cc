// SPDX-License-Identifier: Apache-2.0
//
// Files that OpenSSL writes, files that are damaged, and references.
#include "crypto/rsa/key_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/scratch_folder.h"
#include "crypto/rsa/openssl_key_testing.h"

namespace penumbra::rsa {
namespace {

using testing::HasSubstr;

std::string pem_of(const std::function<int(BIO*)>& write) {
  BIO* const out = BIO_new(BIO_s_mem());
  EXPECT_EQ(write(out), 1);
  char* text = nullptr;
  const auto bytes = static_cast<std::size_t>(BIO_get_mem_data(out, &text));
  std::string pem(text, bytes);
  BIO_free(out);
  return pem;
}

class KeyFileTest : public testing::Test {
 protected:
  static std::string pkcs8(EVP_PKEY* key, const EVP_CIPHER* cipher = nullptr) {
    return pem_of([&](BIO* out) {
      return PEM_write_bio_PKCS8PrivateKey(out, key, cipher, cipher == nullptr ? nullptr : "secret", 6, nullptr,
                                           nullptr);
    });
  }
  static std::string pkcs1(EVP_PKEY* key, const EVP_CIPHER* cipher = nullptr) {
    const auto* const word = reinterpret_cast<const unsigned char*>("secret");
    return pem_of([&](BIO* out) {
      return PEM_write_bio_PrivateKey_traditional(out, key, cipher, cipher == nullptr ? nullptr : word, 6, nullptr,
                                                  nullptr);
    });
  }
  void write(const std::string& text, mode_t mode = 0600) const {
    std::ofstream(file_) << text;
    chmod(file_.c_str(), mode);
  }
  KeyFile read(Readers readers = Readers::owner) const { return {file_, readers}; }
  void expect_failure(const std::string& reason) const {
    EXPECT_THAT([this] { read(); }, testing::ThrowsMessage<std::runtime_error>(
                                        testing::AllOf(HasSubstr(file_.string()), HasSubstr(reason))));
  }
  void expect_key(const TestKey& key) const {
    const KeyFile file = read();
    EXPECT_EQ(expand_of(file.parts()), expand_of(key.parts()));
    EXPECT_FALSE(file.is_reference());
  }
  static std::vector<std::uint8_t> expand_of(const KeyParts& parts) {
    const rsa_key key = expanded(parts);
    const auto bytes = std::as_bytes(std::span(&key, 1));
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), reinterpret_cast<const std::uint8_t*>(&key + 1)};
  }

  const ScratchFolder folder_;
  const std::filesystem::path file_ = folder_ / "key.pem";
  const TestKey& key_ = keys_of(2048).front();
};

TEST_F(KeyFileTest, ReadsBothForms) {
  for (const unsigned bits : {2048U, 3072U, 4096U}) {
    const TestKey& key = keys_of(bits).front();
    write(pkcs8(key.pkey.get()));
    expect_key(key);
    write(pkcs1(key.pkey.get()));
    expect_key(key);
  }
}

TEST_F(KeyFileTest, ReadsTheKeyAmongCertificates) {
  const std::string certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  write("a comment\n" + certificate + pkcs8(key_.pkey.get()) +
        "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n" + certificate);
  expect_key(key_);
  EXPECT_EQ(read().certificates(), certificate + certificate);
}

TEST_F(KeyFileTest, ReadsReferences) {
  for (const unsigned bits : {2048U, 3072U, 4096U}) {
    const TestKey& key = keys_of(bits).front();
    write(write_reference(key.parts()));
    const KeyFile file = read();
    EXPECT_TRUE(file.is_reference());
    const KeyParts parts = file.parts();
    EXPECT_EQ(Bytes(parts.modulus.begin() + 1, parts.modulus.end()), key.modulus);
    EXPECT_EQ(Bytes(parts.public_exponent.begin(), parts.public_exponent.end()), key.public_exponent);
    EXPECT_THROW(expanded(parts), std::invalid_argument);
  }
}

TEST_F(KeyFileTest, RefusesOtherKeys) {
  const Pkey curve(EVP_EC_gen("P-256")), many([] {
    EVP_PKEY_CTX* const context = EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr);
    EVP_PKEY* made = nullptr;
    EVP_PKEY_keygen_init(context);
    EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048);
    EVP_PKEY_CTX_set_rsa_keygen_primes(context, 3);
    EVP_PKEY_generate(context, &made);
    EVP_PKEY_CTX_free(context);
    return made;
  }());
  write(pkcs8(curve.get()));
  expect_failure("no RSA key");
  write(pkcs1(curve.get()));
  expect_failure("no RSA key ('EC PRIVATE KEY')");
  write(pkcs8(many.get()));
  expect_failure("more than two primes");
  for (const auto& text : {pkcs8(key_.pkey.get(), EVP_aes_128_cbc()), pkcs1(key_.pkey.get(), EVP_aes_128_cbc())}) {
    write(text);
    expect_failure("has a passphrase, which is not supported");
  }
  write(pkcs8(key_.pkey.get()) + pkcs8(key_.pkey.get()));
  expect_failure("more than one private key");
}

TEST_F(KeyFileTest, RefusesGarbage) {
  const std::string begin = "-----BEGIN PRIVATE KEY-----", key = pkcs8(key_.pkey.get());
  const auto block = [&begin](const char* body) {
    return std::string(begin).append(body).append("-----END PRIVATE KEY-----\n");
  };
  const std::vector<std::string> texts{"", std::string(1000, '\0'), "\xEF\xBB\xBF",
                                       "-----BEGIN -----\n-----END -----\n"};
  for (const auto& text : texts) {
    write(text);
    expect_failure("has no private key in PEM");
  }
  for (const auto& text : {begin, begin + "\n", std::string("-----BEGIN "), key.substr(0, 1000)}) {
    write(text);
    expect_failure("has a damaged block");
  }
  for (const auto* body : {"\n!!!!\n", "\nAA=A\n", "\n\xFF\n", "\nAAA\n", "\nA===\n", "\nAAAA=\n"}) {
    write(block(body));
    expect_failure("no base64");
  }
  for (const auto* body : {"", "\n", "\nAAAA\n", "\nMA==\n", "\nMIA=\n", "\nMIP///8=\n", "\nMP8=\n", "\nMAA=\n"}) {
    write(block(body));
    expect_failure("the encoding of the key is damaged");
  }
  write(std::string(70'000, 'A'));
  expect_failure("longer than 64 KiB");
}

TEST_F(KeyFileTest, ReadsLinesOfWindows) {
  const std::string certificate = "-----BEGIN CERTIFICATE-----\r\nAAAA\r\n-----END CERTIFICATE-----";
  std::string text = pkcs1(key_.pkey.get());
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, 1, '\r');
  write(text + certificate + "\r\n");
  expect_key(key_);
  EXPECT_EQ(read().certificates(), certificate + "\n");
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

TEST_F(KeyFileTest, TakesNoPrivateKeyForAPartOfACertificate) {
  constexpr std::string_view kCut = "-----BEGIN CERTIFICATE-----\nAAAA\n", kEnd = "-----END CERTIFICATE-----\n";
  const std::string key = pkcs8(key_.pkey.get());
  for (const auto& text : {joined({kCut, key, kCut, kEnd, key}), joined({key, kCut}), joined({kCut, key}),
                           joined({kCut, key, kEnd, key})}) {
    write(text);
    expect_failure("has a damaged block ('-----BEGIN' without its '-----END')");
  }
  for (const auto* label : {"CERTIFICATE\n", "a", ""}) {
    write(joined({"-----BEGIN ", label, "-----\nAAAA\n", kEnd, key}));
    expect_failure("has a damaged block");
  }
  write(joined({kCut, "----BEGIN PRIVATE KEY\n", kEnd, key}));
  expect_failure("has a certificate that is no base64");
}

/// Returns an element of DER of less than 64 KiB, with two bytes of length at least.
Bytes element(std::uint8_t tag, const Bytes& content) {
  Bytes made{tag, 0x82, static_cast<std::uint8_t>(content.size() >> 8), static_cast<std::uint8_t>(content.size())};
  made.insert(made.end(), content.begin(), content.end());
  return made;
}

TEST(PrivateKey, RefusesOtherEncodingsThanDer) {
  unsigned char* encoded = nullptr;
  const int bytes = i2d_PrivateKey(keys_of(2048).front().pkey.get(), &encoded);
  ASSERT_GT(bytes, 1000);
  const Bytes der(encoded, encoded + bytes);
  OPENSSL_free(encoded);
  read_private_key(der, false);
  const auto expect_damage = [](const Bytes& damaged) {
    EXPECT_THAT([&] { read_private_key(damaged, false); },
                testing::ThrowsMessage<std::invalid_argument>(HasSubstr("encoding of the key is damaged")));
  };
  const Bytes content(der.begin() + 4, der.end()), version{2, 1, 0};
  ASSERT_TRUE(std::equal(version.begin(), version.end(), content.begin()));
  const Bytes after_version(content.begin() + 3, content.end());
  const auto with_version = [&](Bytes start) {
    start.insert(start.end(), after_version.begin(), after_version.end());
    return element(0x30, start);
  };
  EXPECT_EQ(with_version(version), der);
  expect_damage(with_version({2, 0x81, 1, 0}));        // a longer form of the length
  expect_damage(with_version({2, 0x82, 0, 1, 0}));     // the same
  expect_damage(with_version({2, 0x80}));              // an indefinite length
  expect_damage(with_version({2, 2, 0, 0}));           // a zero too many
  expect_damage(with_version({2, 0}));                 // no byte
  expect_damage(with_version({2, 1, 0xFF}));           // a negative number
  expect_damage(with_version({2, 0x83, 0, 0, 1, 0}));  // a length of three bytes
  expect_damage(with_version({2, 0x88, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0}));
  Bytes longer = der, inner = content, indefinite{0x30, 0x80};
  longer.push_back(0);
  expect_damage(longer);
  inner.insert(inner.end(), version.begin(), version.end());
  expect_damage(element(0x30, inner));
  indefinite.insert(indefinite.end(), content.begin(), content.end());
  indefinite.insert(indefinite.end(), 2, 0);
  expect_damage(indefinite);
}

TEST_F(KeyFileTest, FollowsLinks) {
  write(pkcs8(key_.pkey.get()));
  const std::filesystem::path link = folder_ / "link.pem";
  std::filesystem::create_symlink(file_, link);
  EXPECT_EQ(expand_of(KeyFile(link, Readers::owner).parts()), expand_of(key_.parts()));
  chmod(file_.c_str(), 0644);
  EXPECT_THAT([&] { KeyFile(link, Readers::owner); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("link.pem' may be accessed by others")))
      << "the rights of the file";
  std::filesystem::remove(file_);
  std::filesystem::create_symlink(link, file_);
  expect_failure("cannot be read");
}

TEST_F(KeyFileTest, StaysInTheOpenFolder) {
  write(pkcs8(key_.pkey.get()));
  const FileDescriptor opened(open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const KeyFile file("/nowhere/key.pem", Readers::owner, opened.get());
  EXPECT_EQ(expand_of(file.parts()), expand_of(key_.parts()));
}

TEST_F(KeyFileTest, RefusesEveryCutKey) {
  const std::string key = pkcs8(key_.pkey.get()), end = "-----END PRIVATE KEY-----\n";
  for (std::size_t bytes = std::string_view("-----BEGIN PRIVATE KEY-----").size(); bytes + end.size() + 3 < key.size();
       bytes += 7) {
    write(key.substr(0, bytes) + end);
    EXPECT_THROW(read(), std::runtime_error) << bytes;
  }
}

TEST_F(KeyFileTest, WantsAFileOfItsOwner) {
  write(pkcs8(key_.pkey.get()));
  for (const mode_t mode : {0640U, 0604U, 0620U, 0610U, 0644U}) {
    chmod(file_.c_str(), mode);
    expect_failure("may be accessed by others than its owner; forbid it (chmod 600)");
    read(Readers::anybody);
  }
  chmod(file_.c_str(), 0400);
  expect_key(key_);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file_.c_str(), 65'533, 0), 0);
    expect_failure("belongs to another user");
  }
}

TEST_F(KeyFileTest, WantsAFile) {
  expect_failure("No such file");
  mkfifo(file_.c_str(), 0600);
  expect_failure("is no file");
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  expect_failure("is no file");
  EXPECT_THAT([] { KeyFile("/dev/zero", Readers::anybody); },
              testing::ThrowsMessage<std::runtime_error>(HasSubstr("is no file")));
}

}  // namespace
}  // namespace penumbra::rsa
