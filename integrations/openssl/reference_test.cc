// SPDX-License-Identifier: Apache-2.0
//
// Key references through OpenSSL's API: `penumbra tls-engine` signs, or nobody does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "crypto/rsa/key_file.h"
#include "provider_testing.h"
#include "remote_engine_testing.h"

namespace penumbra::tls {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Pair;
using Bio = std::unique_ptr<BIO, FreeBy<&BIO_free>>;

const std::string& socket_path() {
  static const std::string kPath = testing::TempDir() + "key_reference_" + std::to_string(getpid()) + ".sock";
  return kPath;
}

class ReferenceTest : public ProviderTest {
 protected:
  explicit ReferenceTest(const std::string& settings = "engine = " + socket_path() + "\n") : ProviderTest(settings) {}

  /// Writes a new key into the engine's folder. Returns the provider's reference to it.
  Pkey add_key(unsigned bits = 2048) {
    const auto file = keys_.path() / std::to_string(++count_);
    const Pkey pkey = generate(bits);
    {
      const Bio out(BIO_new_file(file.c_str(), "w"));
      EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), pkey.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
    }
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    return read(rsa::write_reference(rsa::KeyFile(file, rsa::Readers::owner).parts()), "?provider=penumbra");
  }
  Pkey read(const std::string& pem, const char* properties) {
    const Bio in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    Pkey made(PEM_read_bio_PrivateKey_ex(in.get(), nullptr, nullptr, nullptr, library_, properties));
    EXPECT_NE(made, nullptr);
    return made;
  }
  std::unique_ptr<EngineProcess> start_engine() {
    return std::make_unique<EngineProcess>(socket_path(), rsa_engine::OwnKeys(keys_.path()));
  }
  void expect_signature(EVP_PKEY* reference, const Padding& padding = {}) {
    const Bytes value(32, 7);
    Bytes signature;
    EXPECT_EQ(sign(reference, value, signature, padding), 1);
    EXPECT_TRUE(is_right(reference, value, signature, padding));
  }
  /// Returns the reason of OpenSSL's first error, after an attempt to sign that leaves the output alone.
  std::string reason_of_failure(EVP_PKEY* reference, const Padding& padding = {}) {
    const PkeyContext context = context_of(reference, kOurs, padding, &EVP_PKEY_sign_init);
    const Bytes value(32, 7);
    Bytes signature(512);
    std::size_t bytes = signature.size();
    ERR_clear_error();
    EXPECT_LE(EVP_PKEY_sign(context.get(), signature.data(), &bytes, value.data(), value.size()), 0);
    EXPECT_EQ(signature, Bytes(512));
    const char* reason = "";
    int flags = 0;
    ERR_peek_error_all(nullptr, nullptr, nullptr, &reason, &flags);
    return reason;
  }

  const ScratchFolder keys_;
  unsigned count_ = 0;
};

class ReferenceInJobsTest : public ReferenceTest {
 protected:
  void SetUp() override {
#ifdef PENUMBRA_HAS_NO_JOBS
    GTEST_SKIP() << "ThreadSanitizer does not know that OpenSSL's jobs change stacks";
#endif
  }
};

TEST_F(ReferenceTest, SignsByTheEngineWithoutJobs) {
  const Pkey reference = add_key(), other = add_key(3072);
  const auto process = start_engine();
  for (const Padding& padding : {Padding{}, Padding{.mode = RSA_PKCS1_PSS_PADDING}}) {
    expect_signature(reference.get(), padding);
    expect_signature(other.get(), padding);
  }
  EXPECT_THAT(counters(), IsSupersetOf({Pair("taken", 4U), Pair("answered", 4U), Pair("batched", 0U)}));
  EXPECT_EQ(process->counters().answered, 4U);
}

TEST_F(ReferenceInJobsTest, SignsByTheEngine) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  run_and_verify(reference.get(), 16);
  EXPECT_THAT(counters(), IsSupersetOf({Pair("answered", 16U), Pair("without-job", 0U), Pair("failed", 0U)}));
  EXPECT_EQ(process->counters().answered, 16U);
}

TEST_F(ReferenceInJobsTest, SignsInOneThatMustNotPause) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  auto all = signings(reference.get(), 1, {});
  const auto work = all[0]->job.work;
  all[0]->job.work = [&work] {
    ASYNC_block_pause();
    const int result = work();
    ASYNC_unblock_pause();
    return result;
  };
  EXPECT_TRUE(all[0]->job.go());
  EXPECT_TRUE(is_right(reference.get(), all[0]->value, all[0]->signature, {}));
}

TEST_F(ReferenceTest, SignsInManyThreadsFromTheFirstCall) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (unsigned i = 0; i < 8; ++i) threads.emplace_back([&] { expect_signature(reference.get()); });
  }
  EXPECT_EQ(counters()["answered"], 8U);
}

TEST_F(ReferenceTest, FailsWithoutTheEngineAndSignsWhenItReturns) {
  const Pkey reference = add_key();
  for (std::uint64_t round = 1; round <= 2; ++round) {
    EXPECT_THAT(reason_of_failure(reference.get()), AllOf(HasSubstr("no engine"), HasSubstr(socket_path())));
    EXPECT_EQ(counters()["failed"], round);
    const auto process = start_engine();
    expect_signature(reference.get());
    EXPECT_EQ(counters()["answered"], round);
  }
}

TEST_F(ReferenceTest, WaitsForAnEngineThatStarts) {
  const Pkey reference = add_key();
  auto process = start_engine();
  expect_signature(reference.get());
  process.reset();
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    process = start_engine();
  });
  expect_signature(reference.get());
}

TEST_F(ReferenceTest, FailsIfTheEngineDoesNotHaveTheKey) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  const Pkey unknown = add_key();
  EXPECT_THAT(reason_of_failure(unknown.get()), HasSubstr("does not have the key; put it in the folder of --keys"));
  expect_signature(reference.get());
  EXPECT_EQ(process->counters().refused_keys, 1U);
  EXPECT_THAT(counters(), IsSupersetOf({Pair("failed", 1U), Pair("answered", 1U)}));
}

TEST_F(ReferenceTest, FailsIfTheEngineIsSilent) {
  const HostileEngine silent(socket_path(), [](auto&, auto&, const auto&) {});
  const Pkey reference = add_key();
  EXPECT_THAT(reason_of_failure(reference.get()), HasSubstr("has ended or is late"));
}

TEST_F(ReferenceTest, FailsIfTheEngineLies) {
  const HostileEngine liar(socket_path(), [](auto&, auto& writer, const auto& request) {
    writer.write({.tag = request.tag, .bytes = request.bytes, .content = request.content});
  });
  const Pkey reference = add_key();
  EXPECT_THAT(reason_of_failure(reference.get()), HasSubstr("gave no right result"));
}

TEST_F(ReferenceTest, FailsIfTheConnectionEndsDuringTheOperation) {
  const HostileEngine broken(socket_path(), [](auto& ring, auto&, const auto&) { ring.written = 0xFFFFFFFF; });
  const Pkey reference = add_key();
  EXPECT_THAT(reason_of_failure(reference.get()), HasSubstr("has ended or is late"));
}

TEST_F(ReferenceTest, AKeyWithoutRoomInAMessageHarmsNoOther) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  expect_signature(reference.get());
  Bytes modulus(256, 0xFF), exponent(4000, 0xFF);
  rsa::KeyParts parts;
  parts.modulus = modulus;
  parts.public_exponent = exponent;
  for (const std::size_t bytes : {4000U, 4096U - 256U - 14U, 4096U - 256U - 14U - 8U}) {
    exponent.resize(bytes);
    parts.public_exponent = exponent;
    const Pkey huge = read(rsa::write_reference(parts), "?provider=penumbra");
    EXPECT_THAT(reason_of_failure(huge.get()), HasSubstr("does not have the key"));
  }
  expect_signature(reference.get());
  EXPECT_EQ(process->counters().broken_clients, 0U);
  EXPECT_EQ(counters()["failed"], 3U);
}

TEST_F(ReferenceTest, SignsDigestsOnly) {
  const Pkey reference = add_key();
  const auto process = start_engine();
  EXPECT_THAT(reason_of_failure(reference.get(), {.mode = RSA_NO_PADDING, .digest = nullptr}),
              HasSubstr("PKCS #1 v1.5 and PSS"));
  EXPECT_THAT(reason_of_failure(reference.get(), {.digest = "SHA512"}), HasSubstr("PKCS #1 v1.5 and PSS"))
      << "a value of another length";
}

TEST_F(ReferenceTest, FailsForSizesThatTheEngineDoesNotTake) {
  const Bytes modulus(520, 0xFF), exponent{1, 0, 1};
  rsa::KeyParts parts;
  parts.modulus = modulus;
  parts.public_exponent = exponent;
  const Pkey reference = read(rsa::write_reference(parts), "?provider=penumbra");
  EXPECT_THAT(reason_of_failure(reference.get()), HasSubstr("2048, 3072 and 4096 bits"));
}

TEST_F(ReferenceTest, HasThePublicPartOfTheKey) {
  const Pkey reference = add_key();
  const Pkey key = read(
      [&] {
        std::ifstream in(keys_.path() / "1");
        return std::string(std::istreambuf_iterator<char>(in), {});
      }(),
      kDefault);
  EXPECT_EQ(EVP_PKEY_eq(reference.get(), key.get()), 1) << "as applications compare it with a certificate";
  OSSL_PARAM* params = nullptr;
  ASSERT_EQ(EVP_PKEY_todata(reference.get(), EVP_PKEY_KEYPAIR, &params), 1);
  const Parameters owned(params);
  std::array<char, 64> mark{};
  BIGNUM* number = nullptr;
  ASSERT_EQ(OSSL_PARAM_get_BN(OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_RSA_D), &number), 1);
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(mark.data()));
  BN_free(number);
  EXPECT_EQ(mark.data(), rsa::kReferenceMark) << "a copy is a reference again";
}

TEST_F(ReferenceTest, OpensslsOwnCodeNeitherSignsNorDecrypts) {
  const Pkey ours = add_key();
  const auto process = start_engine();
  const std::string pem = rsa::write_reference(rsa::KeyFile(keys_.path() / "1", rsa::Readers::owner).parts());
  const Pkey reference = read(pem, kDefault);
  Bytes value(32, 7), signature(256), input(256, 1), output(256);
  std::size_t bytes = 256;
  for (const int mode : {RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING}) {
    const PkeyContext context = context_of(reference.get(), kDefault, {.mode = mode}, &EVP_PKEY_sign_init);
    EXPECT_LE(EVP_PKEY_sign(context.get(), signature.data(), &bytes, value.data(), value.size()), 0);
  }
  for (EVP_PKEY* const pkey : {reference.get(), ours.get()}) {
    for (const int mode : {RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING}) {
      const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library_, pkey, nullptr));
      EXPECT_EQ(EVP_PKEY_decrypt_init(context.get()), 1);
      EXPECT_GT(EVP_PKEY_CTX_set_rsa_padding(context.get(), mode), 0);
      EXPECT_LE(EVP_PKEY_decrypt(context.get(), output.data(), &bytes, input.data(), input.size()), 0);
    }
  }
}

/// Without the setting `engine`.
class LoneReferenceTest : public ReferenceTest {
 protected:
  LoneReferenceTest() : ReferenceTest("") {}
};

TEST_F(LoneReferenceTest, Fails) {
  const Pkey reference = add_key();
  EXPECT_THAT(reason_of_failure(reference.get()), HasSubstr("set 'engine'"));
  EXPECT_THAT(counters(), IsSupersetOf({Pair("taken", 1U), Pair("failed", 1U)}));
}

}  // namespace
}  // namespace penumbra::tls
