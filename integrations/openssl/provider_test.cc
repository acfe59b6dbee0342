// SPDX-License-Identifier: Apache-2.0
//
// The provider through OpenSSL's API, in a library context of its own. OpenSSL's provider `default` verifies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "crypto/rsa/ifma.h"
#include "handles.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define PENUMBRA_MAY_LEAK const __lsan::ScopedDisabler may_leak
#endif
#endif
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PENUMBRA_HAS_NO_JOBS
#endif
#endif
#ifndef PENUMBRA_MAY_LEAK
#define PENUMBRA_MAY_LEAK
#endif

namespace penumbra::tls {
namespace {

using Bytes = std::vector<std::uint8_t>;
using testing::AllOf;
using testing::Pair;

constexpr char kOurs[] = "provider=penumbra", kDefault[] = "provider=default";

class Wait {
 public:
  ~Wait() { ASYNC_WAIT_CTX_free(context_); }
  ASYNC_WAIT_CTX* get() { return context_; }
  /// Returns the descriptor of the paused job.
  int descriptor() {
    OSSL_ASYNC_FD found = -1;
    std::size_t count = 0;
    EXPECT_EQ(ASYNC_WAIT_CTX_get_all_fds(context_, nullptr, &count), 1);
    EXPECT_EQ(count, 1U);
    if (count == 1) ASYNC_WAIT_CTX_get_all_fds(context_, &found, &count);
    return found;
  }
  void free() {
    ASYNC_WAIT_CTX_free(context_);
    context_ = nullptr;
  }

 private:
  ASYNC_WAIT_CTX* context_ = ASYNC_WAIT_CTX_new();
};

/// An asynchronous job of OpenSSL.
struct Job {
  std::function<int()> work;
  Wait wait;
  ASYNC_JOB* job = nullptr;
  int result = -1;

  /// Starts or resumes it. Returns whether it is finished.
  bool go() {
    // OpenSSL copies the argument.
    struct Argument {
      Job* self;
    } argument{this};
    const auto call = [](void* copy) { return static_cast<Argument*>(copy)->self->work(); };
    const int status = ASYNC_start_job(&job, wait.get(), &result, call, &argument, sizeof argument);
    EXPECT_THAT(status, testing::AnyOf(ASYNC_PAUSE, ASYNC_FINISH));
    return status != ASYNC_PAUSE;
  }
  /// Waits for the descriptor, as an application does.
  void finish() {
    while (!go()) {
      pollfd one{.fd = wait.descriptor(), .events = POLLIN, .revents = 0};
      ASSERT_GT(poll(&one, 1, 60'000), 0);
    }
  }
};

class ProviderTest : public testing::Test {
 protected:
  ProviderTest() {
    EXPECT_EQ(OSSL_PROVIDER_add_builtin(library_, "penumbra", &OSSL_provider_init), 1);
    default_ = OSSL_PROVIDER_load(library_, "default");
    ours_ = OSSL_PROVIDER_load(library_, "penumbra");
    EXPECT_NE(ours_, nullptr);
  }
  ~ProviderTest() override {
    ASYNC_cleanup_thread();
    keys_.clear();
    OSSL_PROVIDER_unload(ours_);
    OSSL_PROVIDER_unload(default_);
    OSSL_LIB_CTX_free(library_);
  }

  /// Makes a key of OpenSSL's.
  Pkey generate(unsigned bits, unsigned primes = 2) {
    const PkeyContext context(EVP_PKEY_CTX_new_from_name(library_, "RSA", kDefault));
    EVP_PKEY* pkey = nullptr;
    EXPECT_EQ(EVP_PKEY_keygen_init(context.get()), 1);
    EXPECT_GT(EVP_PKEY_CTX_set_rsa_keygen_bits(context.get(), static_cast<int>(bits)), 0);
    EXPECT_GT(EVP_PKEY_CTX_set_rsa_keygen_primes(context.get(), static_cast<int>(primes)), 0);
    EXPECT_EQ(EVP_PKEY_generate(context.get(), &pkey), 1);
    return Pkey(pkey);
  }
  /// Returns a key of the provider, which the tests of this fixture share.
  EVP_PKEY* key(unsigned bits = 2048) {
    auto& found = keys_[bits];
    if (found == nullptr) found = imported(*generate(bits));
    return found.get();
  }
  /// Imports a key into the provider, after a change of its parts.
  Pkey imported(EVP_PKEY& pkey, const std::function<void(OSSL_PARAM*)>& change = {}) {
    OSSL_PARAM* params = nullptr;
    EXPECT_EQ(EVP_PKEY_todata(&pkey, EVP_PKEY_KEYPAIR, &params), 1);
    const Parameters owned(params);
    if (change) change(params);
    const PkeyContext context(EVP_PKEY_CTX_new_from_name(library_, "RSA", kOurs));
    EVP_PKEY* made = nullptr;
    EXPECT_EQ(EVP_PKEY_fromdata_init(context.get()), 1);
    EXPECT_EQ(EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_KEYPAIR, params), 1);
    EXPECT_STREQ(OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(made)), "penumbra");
    return Pkey(made);
  }

  struct Padding {
    int mode = RSA_PKCS1_PADDING;
    const char* digest = "SHA256";
    int salt = RSA_PSS_SALTLEN_DIGEST;
    const char* mask_digest = nullptr;
  };
  PkeyContext context_of(EVP_PKEY* pkey, const char* properties, const Padding& padding, int (*begin)(EVP_PKEY_CTX*)) {
    PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library_, pkey, properties));
    EXPECT_EQ(begin(context.get()), 1);
    EXPECT_GT(EVP_PKEY_CTX_set_rsa_padding(context.get(), padding.mode), 0);
    if (padding.digest != nullptr) {
      const Digest digest(EVP_MD_fetch(library_, padding.digest, nullptr));
      EXPECT_GT(EVP_PKEY_CTX_set_signature_md(context.get(), digest.get()), 0);
    }
    if (padding.mode == RSA_PKCS1_PSS_PADDING) {
      EXPECT_GT(EVP_PKEY_CTX_set_rsa_pss_saltlen(context.get(), padding.salt), 0);
      if (padding.mask_digest != nullptr) {
        EXPECT_GT(EVP_PKEY_CTX_set_rsa_mgf1_md_name(context.get(), padding.mask_digest, nullptr), 0);
      }
    }
    return context;
  }
  int sign(EVP_PKEY* pkey, const Bytes& value, Bytes& signature, const Padding& padding) {
    const PkeyContext context = context_of(pkey, kOurs, padding, &EVP_PKEY_sign_init);
    std::size_t bytes = 0;
    if (EVP_PKEY_sign(context.get(), nullptr, &bytes, value.data(), value.size()) != 1) return 0;
    signature.resize(bytes);
    return EVP_PKEY_sign(context.get(), signature.data(), &bytes, value.data(), value.size());
  }
  bool is_right(EVP_PKEY* pkey, const Bytes& value, const Bytes& signature, Padding padding) {
    if (padding.salt != 0) padding.salt = RSA_PSS_SALTLEN_AUTO;
    const PkeyContext context = context_of(pkey, kDefault, padding, &EVP_PKEY_verify_init);
    return EVP_PKEY_verify(context.get(), signature.data(), signature.size(), value.data(), value.size()) == 1;
  }

  struct Signing {
    Bytes value, signature;
    Job job;
  };
  /// Prepares jobs that sign different values.
  std::vector<std::unique_ptr<Signing>> signings(EVP_PKEY* pkey, std::size_t count, const Padding& padding) {
    std::vector<std::unique_ptr<Signing>> all;
    for (std::size_t i = 0; i < count; ++i) {
      auto one = std::make_unique<Signing>();
      const Digest digest(padding.digest == nullptr ? nullptr : EVP_MD_fetch(library_, padding.digest, nullptr));
      one->value.assign(digest == nullptr ? 20 : static_cast<std::size_t>(EVP_MD_get_size(digest.get())), 0);
      one->value[0] = static_cast<std::uint8_t>(i);
      Signing* const signing = one.get();
      one->job.work = [this, pkey, signing, padding] {
        return sign(pkey, signing->value, signing->signature, padding);
      };
      all.push_back(std::move(one));
    }
    return all;
  }
  /// Runs jobs that all start before the first is resumed, and verifies their signatures.
  void run_and_verify(EVP_PKEY* pkey, std::size_t count, const Padding& padding) {
    auto all = signings(pkey, count, padding);
    std::vector<Signing*> paused;
    for (auto& one : all) {
      if (!one->job.go()) paused.push_back(one.get());
    }
    for (Signing* one : paused) one->job.finish();
    for (auto& one : all) {
      EXPECT_EQ(one->job.result, 1);
      EXPECT_TRUE(is_right(pkey, one->value, one->signature, padding));
    }
  }
  void run_and_verify(EVP_PKEY* pkey, std::size_t count) { run_and_verify(pkey, count, {}); }

  std::map<std::string, std::uint64_t> counters() {
    std::map<std::string, std::uint64_t> values{{"taken", 0},   {"answered", 0},    {"abandoned", 0}, {"fell-back", 0},
                                                {"refused", 0}, {"without-job", 0}, {"in-flight", 0}, {"batched", 0}};
    for (auto& [name, value] : values) {
      OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name.c_str(), &value), OSSL_PARAM_construct_end()};
      EXPECT_EQ(OSSL_PROVIDER_get_params(ours_, params), 1);
    }
    EXPECT_EQ(values["taken"], values["answered"] + values["abandoned"] + values["fell-back"]) << "jobs are missing";
    return values;
  }
  void wait_until_idle() {
    while (counters()["in-flight"] != 0) std::this_thread::yield();
  }

  OSSL_LIB_CTX* library_ = OSSL_LIB_CTX_new();
  OSSL_PROVIDER *default_ = nullptr, *ours_ = nullptr;
  std::map<unsigned, Pkey> keys_;
};

/// Tests of what the engine takes, which needs AVX512-IFMA.
class ProviderEngineTest : public ProviderTest {
 protected:
  void SetUp() override {
#ifdef PENUMBRA_HAS_NO_JOBS
    GTEST_SKIP() << "ThreadSanitizer does not know that OpenSSL's jobs change stacks";
#endif
    if (!rsa::has_ifma()) GTEST_SKIP() << "this CPU has no AVX512-IFMA";
  }
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

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

/// haproxy#3453: a connection that ends while its job is paused. OpenSSL loses the job itself.
TEST_F(ProviderEngineTest, ForgetsAbandonedJobs) {
  PENUMBRA_MAY_LEAK;
  run_and_verify(key(), 1);  // starts the engine
  const std::size_t before = open_descriptors();
  constexpr std::uint64_t kCount = 50;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    auto one = std::move(signings(key(), 1, {}).front());
    ASSERT_FALSE(one->job.go());
    one->job.wait.free();
  }
  while (open_descriptors() > before) std::this_thread::yield();
  wait_until_idle();
  EXPECT_THAT(counters(), testing::IsSupersetOf({Pair("taken", kCount + 1), Pair("abandoned", kCount)}));
  run_and_verify(key(), 16);
}

/// QAT_Engine#178, #349: the engine must not write to a descriptor that the application uses again.
TEST_F(ProviderEngineTest, NeverWritesToAReusedDescriptor) {
  PENUMBRA_MAY_LEAK;
  for (unsigned i = 0; i < 20; ++i) {
    auto one = std::move(signings(key(4096), 1, {}).front());
    ASSERT_FALSE(one->job.go());
    const int descriptor = one->job.wait.descriptor();
    one->job.wait.free();
    const int other = eventfd(0, EFD_NONBLOCK);
    ASSERT_EQ(dup2(other, descriptor), descriptor);
    wait_until_idle();
    std::uint64_t written = 0;
    EXPECT_EQ(read(descriptor, &written, sizeof written), -1);
    close(descriptor);
    if (other != descriptor) close(other);
  }
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
