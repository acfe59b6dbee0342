// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/rsa.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "provider_testing.h"

namespace penumbra::tls {
namespace {

using testing::Pair;

TEST_F(ProviderTest, SignsWithoutJobs) {
  Bytes value(32, 7), signature;
  EXPECT_EQ(sign(key(), value, signature, {}), 1);
  EXPECT_TRUE(is_right(key(), value, signature, {}));
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("taken", 0U), Pair("without-job", 1U)}));
}

TEST_F(ProviderEngineTest, SignsSixteenPausedJobsWithOneKey) {
  for (const unsigned bits : {2048U, 3072U, 4096U}) run_and_verify(key(bits), 16);
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("taken", 48U), Pair("answered", 48U), Pair("in-flight", 0U)}));
  EXPECT_GE(counters()["batched"], 3 * 8U);
}

TEST_F(ProviderEngineTest, SignsOneJobAlone) {
  run_and_verify(key(), 1);
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("answered", 1U), Pair("batched", 0U)}));
}

TEST_F(ProviderEngineTest, MixesKeysAndSizes) {
  const Pkey other = imported(*generate(2048));
  auto all = signings(key(2048), 10, {});
  for (auto& one : signings(key(3072), 5, {})) all.push_back(std::move(one));
  for (auto& one : signings(other.get(), 10, {})) all.push_back(std::move(one));
  for (auto& one : all) one->job.go();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i]->job.job != nullptr) all[i]->job.finish();
    EVP_PKEY* const own = i < 10 ? key(2048) : i < 15 ? key(3072) : other.get();
    EXPECT_TRUE(is_right(own, all[i]->value, all[i]->signature, {})) << i;
  }
}

TEST_F(ProviderEngineTest, TakesPaddingsAndDigests) {
  for (const char* digest : {"SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "SHA512-256", "SHA3-256"}) {
    run_and_verify(key(), 4, {.digest = digest});
    run_and_verify(key(), 4, {.mode = RSA_PKCS1_PSS_PADDING, .digest = digest});
  }
  for (const int salt : {RSA_PSS_SALTLEN_AUTO, RSA_PSS_SALTLEN_MAX, 0, 17}) {
    run_and_verify(key(), 4, {.mode = RSA_PKCS1_PSS_PADDING, .salt = salt});
  }
  run_and_verify(key(), 4, {.mode = RSA_PKCS1_PSS_PADDING, .mask_digest = "SHA512"});
  run_and_verify(key(), 4, {.digest = nullptr});
  run_and_verify(key(), 4, {.digest = "MD5-SHA1"});
  const auto found = counters();
  EXPECT_EQ(found.at("answered"), found.at("taken"));
  EXPECT_EQ(found.at("taken"), 4U * (14 + 4 + 3));
}

TEST_F(ProviderEngineTest, PausesAgainAfterSpuriousResumes) {
  auto all = signings(key(4096), 4, {});
  for (auto& one : all) EXPECT_FALSE(one->job.go());
  for (unsigned i = 0; i < 50; ++i) {
    if (all[3]->job.go()) break;
  }
  for (auto& one : all) {
    if (one->job.job != nullptr) one->job.finish();
    EXPECT_TRUE(is_right(key(4096), one->value, one->signature, {}));
  }
  EXPECT_EQ(counters()["answered"], 4U);
}

TEST_F(ProviderEngineTest, RefusesWhenTheQueueIsFull) {
  auto all = signings(key(4096), 200, {});
  std::vector<Signing*> paused;
  for (auto& one : all) {
    std::size_t descriptors = 0;
    if (!one->job.go()) {
      paused.push_back(one.get());
      continue;
    }
    // HAProxy must not find a descriptor that it did not learn when the job paused.
    EXPECT_EQ(ASYNC_WAIT_CTX_get_all_fds(one->job.wait.get(), nullptr, &descriptors), 1);
    EXPECT_EQ(descriptors, 0U);
  }
  for (Signing* one : paused) one->job.finish();
  for (auto& one : all) EXPECT_TRUE(is_right(key(4096), one->value, one->signature, {}));
  const auto found = counters();
  EXPECT_EQ(found.at("taken"), paused.size());
  EXPECT_GT(found.at("refused"), 0U);
  EXPECT_EQ(found.at("refused") + found.at("taken"), 200U);
}

TEST_F(ProviderEngineTest, FallsBackIfAPauseIsBlocked) {
  auto one = std::move(signings(key(), 1, {}).front());
  const auto work = one->job.work;
  one->job.work = [work] {
    ASYNC_block_pause();
    const int result = work();
    ASYNC_unblock_pause();
    return result;
  };
  EXPECT_TRUE(one->job.go());
  EXPECT_TRUE(is_right(key(), one->value, one->signature, {}));
  EXPECT_EQ(counters()["taken"], 1U);
}

/// A wrong part of a key makes every result of the engine wrong. OpenSSL's own code works without these parts.
TEST_F(ProviderEngineTest, FallsBackAfterAFault) {
  const Pkey faulty = imported(*generate(2048), [](OSSL_PARAM* params) {
    OSSL_PARAM* const exponent = OSSL_PARAM_locate(params, OSSL_PKEY_PARAM_RSA_EXPONENT1);
    ASSERT_NE(exponent, nullptr);
    static_cast<std::uint8_t*>(exponent->data)[5] ^= 1;
  });
  run_and_verify(faulty.get(), 8);
  auto found = counters();
  EXPECT_EQ(found["taken"], 8U);
  EXPECT_GT(found["batched"], 0U);
  EXPECT_EQ(found["fell-back"], found["batched"]);
  EXPECT_EQ(found["answered"], 8U - found["batched"]) << "OpenSSL itself answers a request that no other one joins";
}

TEST_F(ProviderEngineTest, DelegatesKeysThatTheEngineDoesNotTake) {
  const Pkey small = imported(*generate(1024)), odd = imported(*generate(2056)), multi = imported(*generate(2048, 3));
  const Pkey whole = generate(2048);
  OSSL_PARAM* params = nullptr;
  ASSERT_EQ(EVP_PKEY_todata(whole.get(), EVP_PKEY_KEYPAIR, &params), 1);
  const Parameters owned(params);
  std::vector<OSSL_PARAM> without_crt;
  for (const OSSL_PARAM* each = params; each->key != nullptr; ++each) {
    if (std::string(each->key).size() == 1) without_crt.push_back(*each);  // n, e, d
  }
  ASSERT_EQ(without_crt.size(), 3U);
  without_crt.push_back(OSSL_PARAM_construct_end());
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(library_, "RSA", kOurs));
  EVP_PKEY* bare = nullptr;
  ASSERT_EQ(EVP_PKEY_fromdata_init(context.get()), 1);
  ASSERT_EQ(EVP_PKEY_fromdata(context.get(), &bare, EVP_PKEY_KEYPAIR, without_crt.data()), 1);
  const Pkey bare_key(bare);
  for (EVP_PKEY* pkey : {small.get(), odd.get(), multi.get(), bare}) run_and_verify(pkey, 4);
  EXPECT_EQ(counters()["taken"], 0U);
}

TEST_F(ProviderEngineTest, WorksInAChildProcess) {
  run_and_verify(key(), 8);
  const pid_t child = fork();
  if (child == 0) {
    run_and_verify(key(), 8);
    _exit(counters()["answered"] == 8 && !HasFailure() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  run_and_verify(key(), 8);
  EXPECT_EQ(counters()["answered"], 16U);
}

TEST_F(ProviderTest, SignsAndVerifiesMessages) {
  const Bytes message(1000, 3);
  Bytes signature(256);
  std::size_t bytes = signature.size();
  const DigestContext signing(EVP_MD_CTX_new()), verifying(EVP_MD_CTX_new());
  ASSERT_EQ(EVP_DigestSignInit_ex(signing.get(), nullptr, "SHA384", library_, kOurs, key(), nullptr), 1);
  ASSERT_EQ(EVP_DigestSignUpdate(signing.get(), message.data(), 400), 1);
  const DigestContext copy(EVP_MD_CTX_new());
  ASSERT_EQ(EVP_MD_CTX_copy_ex(copy.get(), signing.get()), 1);
  for (const auto* context : {&signing, &copy}) {
    ASSERT_EQ(EVP_DigestSignUpdate(context->get(), message.data() + 400, 600), 1);
    ASSERT_EQ(EVP_DigestSignFinal(context->get(), signature.data(), &bytes), 1);
    for (const char* properties : {kOurs, kDefault}) {
      EVP_MD_CTX_reset(verifying.get());
      ASSERT_EQ(EVP_DigestVerifyInit_ex(verifying.get(), nullptr, "SHA384", library_, properties, key(), nullptr), 1);
      EXPECT_EQ(EVP_DigestVerify(verifying.get(), signature.data(), bytes, message.data(), message.size()), 1);
    }
  }
  signature[9] ^= 1;
  EVP_MD_CTX_reset(verifying.get());
  ASSERT_EQ(EVP_DigestVerifyInit_ex(verifying.get(), nullptr, "SHA384", library_, kOurs, key(), nullptr), 1);
  EXPECT_EQ(EVP_DigestVerify(verifying.get(), signature.data(), bytes, message.data(), message.size()), 0);
}

TEST_F(ProviderTest, ManagesKeysAsOpensslDoes) {
  const PkeyContext context(EVP_PKEY_CTX_new_from_name(library_, "RSA", kOurs));
  EVP_PKEY* made = nullptr;
  ASSERT_EQ(EVP_PKEY_keygen_init(context.get()), 1);
  ASSERT_GT(EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), 1024), 0);
  ASSERT_EQ(EVP_PKEY_generate(context.get(), &made), 1);
  const Pkey first(made), copy(EVP_PKEY_dup(made));
  EXPECT_EQ(EVP_PKEY_eq(first.get(), copy.get()), 1);
  EXPECT_EQ(EVP_PKEY_eq(first.get(), key()), 0);
  EXPECT_EQ(EVP_PKEY_get_bits(first.get()), 1024);
  const PkeyContext checking(EVP_PKEY_CTX_new_from_pkey(library_, first.get(), kOurs));
  EXPECT_EQ(EVP_PKEY_check(checking.get()), 1);
  // OpenSSL's own code deciphers, with a key that it exports.
  Bytes ciphertext(128), plain(128);
  std::size_t bytes = ciphertext.size();
  const PkeyContext enciphering(EVP_PKEY_CTX_new_from_pkey(library_, first.get(), "?provider=penumbra"));
  ASSERT_EQ(EVP_PKEY_encrypt_init(enciphering.get()), 1);
  ASSERT_EQ(EVP_PKEY_encrypt(enciphering.get(), ciphertext.data(), &bytes, Bytes(20, 9).data(), 20), 1);
  const PkeyContext deciphering(EVP_PKEY_CTX_new_from_pkey(library_, first.get(), "?provider=penumbra"));
  ASSERT_EQ(EVP_PKEY_decrypt_init(deciphering.get()), 1);
  std::size_t plain_bytes = plain.size();
  ASSERT_EQ(EVP_PKEY_decrypt(deciphering.get(), plain.data(), &plain_bytes, ciphertext.data(), bytes), 1);
  plain.resize(plain_bytes);
  EXPECT_EQ(plain, Bytes(20, 9));
}

}  // namespace
}  // namespace penumbra::tls
