// SPDX-License-Identifier: Apache-2.0
//
// The provider through OpenSSL's API, in a library context of its own, for tests. OpenSSL's provider `default`
// verifies.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <poll.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "crypto/rsa/ifma.h"
#include "engine.h"
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

using Bytes = std::vector<std::uint8_t>;

inline constexpr char kOurs[] = "provider=penumbra", kDefault[] = "provider=default";

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
  /// `settings` are lines of the provider's section in openssl.cnf.
  explicit ProviderTest(const std::string& settings = {}) {
    EXPECT_EQ(OSSL_PROVIDER_add_builtin(library_, "penumbra", &OSSL_provider_init), 1);
    if (!settings.empty()) load(settings);
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

  void load(const std::string& settings) {
    const ScratchFolder folder;
    std::ofstream(folder / "openssl.cnf") << "openssl_conf = init\n[init]\nproviders = all\n[all]\npenumbra = own\n"
                                          << "[own]\nactivate = 1\n"
                                          << settings;
    EXPECT_EQ(OSSL_LIB_CTX_load_config(library_, (folder / "openssl.cnf").c_str()), 1);
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
    std::map<std::string, std::uint64_t> values{{"taken", 0},       {"answered", 0},  {"abandoned", 0},
                                                {"fell-back", 0},   {"failed", 0},    {"refused", 0},
                                                {"without-job", 0}, {"in-flight", 0}, {"batched", 0}};
    for (auto& [name, value] : values) {
      OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64(name.c_str(), &value), OSSL_PARAM_construct_end()};
      EXPECT_EQ(OSSL_PROVIDER_get_params(ours_, params), 1);
    }
    EXPECT_EQ(values["taken"], values["answered"] + values["abandoned"] + values["fell-back"] + values["failed"])
        << "jobs are missing";
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

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace penumbra::tls
