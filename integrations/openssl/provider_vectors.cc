// SPDX-License-Identifier: Apache-2.0
//
// Runs operations from standard input by OpenSSL's API, for tests by vectors (tests/test_rsa_vectors.py). The argument
// is a configuration of OpenSSL that loads `penumbra`. Bytes are in hexadecimal digits, or '-' for none. A line has:
//
//   PROPERTIES sign KEY pkcs1|pss DIGEST SALT_BYTES MESSAGE -
//   PROPERTIES verify PUBLIC_KEY pkcs1|pss DIGEST SALT_BYTES MESSAGE SIGNATURE
//   PROPERTIES decrypt KEY pkcs1|oaep DIGEST LABEL CIPHERTEXT -
//
// KEY is in DER. It prints the result, or "refused", and at the end the signatures "TAKEN ANSWERED BATCHED" of the
// provider.
#include <openssl/async.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <poll.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "crypto/hex_testing.h"
#include "handles.h"

namespace penumbra::tls {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr char kRefused[] = "refused";
/// Jobs that are paused at a time. The queue of the engine has room for them.
constexpr std::size_t kTogether = 32;

struct Line {
  std::string properties, operation, key, padding, digest, extra, input, signature;
};

std::istream& operator>>(std::istream& in, Line& line) {
  return in >> line.properties >> line.operation >> line.key >> line.padding >> line.digest >> line.extra >>
         line.input >> line.signature;
}

Pkey key_of(OSSL_LIB_CTX* library, const Line& line) {
  const Bytes der = bytes_of_hex(line.key);
  const std::uint8_t* at = der.data();
  const auto bytes = static_cast<long>(der.size());
  Pkey key(line.operation == "verify" ? d2i_PUBKEY_ex(nullptr, &at, bytes, library, line.properties.c_str())
                                      : d2i_AutoPrivateKey_ex(nullptr, &at, bytes, library, line.properties.c_str()));
  if (key == nullptr) throw std::runtime_error("a key cannot be read");
  return key;
}

void set_padding(EVP_PKEY_CTX* context, const Line& line) {
  const bool is_pss = line.padding == "pss";
  if (EVP_PKEY_CTX_set_rsa_padding(context, is_pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) <= 0 ||
      (is_pss && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, std::stoi(line.extra)) <= 0)) {
    throw std::runtime_error("a padding cannot be set");
  }
}

std::string sign(OSSL_LIB_CTX* library, EVP_PKEY* key, const Line& line) {
  const Bytes message = bytes_of_hex(line.input);
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* of_key = nullptr;
  if (EVP_DigestSignInit_ex(context.get(), &of_key, line.digest.c_str(), library, line.properties.c_str(), key,
                            nullptr) != 1) {
    return kRefused;
  }
  set_padding(of_key, line);
  std::size_t bytes = static_cast<std::size_t>(EVP_PKEY_get_size(key));
  Bytes signature(bytes);
  if (EVP_DigestSign(context.get(), signature.data(), &bytes, message.data(), message.size()) != 1) return kRefused;
  signature.resize(bytes);
  return hex_of(signature);
}

std::string verify(OSSL_LIB_CTX* library, EVP_PKEY* key, const Line& line) {
  const Bytes message = bytes_of_hex(line.input), signature = bytes_of_hex(line.signature);
  const DigestContext context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* of_key = nullptr;
  if (EVP_DigestVerifyInit_ex(context.get(), &of_key, line.digest.c_str(), library, line.properties.c_str(), key,
                              nullptr) != 1) {
    return kRefused;
  }
  set_padding(of_key, line);
  return EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(), message.size()) == 1
             ? "right"
             : kRefused;
}

std::string decrypt(OSSL_LIB_CTX* library, EVP_PKEY* key, const Line& line) {
  const Bytes ciphertext = bytes_of_hex(line.input);
  Bytes label = bytes_of_hex(line.extra);
  const PkeyContext context(EVP_PKEY_CTX_new_from_pkey(library, key, line.properties.c_str()));
  if (EVP_PKEY_decrypt_init(context.get()) != 1) return kRefused;
  if (line.padding == "oaep") {
    if (EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_OAEP_PADDING) <= 0 ||
        EVP_PKEY_CTX_set_rsa_oaep_md_name(context.get(), line.digest.c_str(), nullptr) <= 0 ||
        EVP_PKEY_CTX_set_rsa_mgf1_md_name(context.get(), line.digest.c_str(), nullptr) <= 0) {
      throw std::runtime_error("a padding cannot be set");
    }
    if (!label.empty()) {
      void* const copy = OPENSSL_memdup(label.data(), label.size());
      if (EVP_PKEY_CTX_set0_rsa_oaep_label(context.get(), copy, static_cast<int>(label.size())) <= 0) return kRefused;
    }
  }
  std::size_t bytes = static_cast<std::size_t>(EVP_PKEY_get_size(key));
  Bytes message(bytes);
  if (EVP_PKEY_decrypt(context.get(), message.data(), &bytes, ciphertext.data(), ciphertext.size()) != 1) {
    return kRefused;
  }
  message.resize(bytes);
  return hex_of(message);
}

/// An operation, as an asynchronous job of OpenSSL.
class Job {
 public:
  Job(OSSL_LIB_CTX* library, Line line) : library_(library), line_(std::move(line)), key_(key_of(library, line_)) {}
  ~Job() { ASYNC_WAIT_CTX_free(wait_); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// Starts or resumes the job, unless it is finished. Returns whether it is finished.
  bool go() {
    if (is_finished_) return true;
    Job* self = this;  // OpenSSL copies the pointer.
    const auto call = [](void* copy) { return (*static_cast<Job**>(copy))->run(); };
    int result = 0;
    const int status = ASYNC_start_job(&job_, wait_, &result, call, static_cast<void*>(&self), sizeof self);
    if (status != ASYNC_PAUSE && status != ASYNC_FINISH) throw std::runtime_error("a job cannot start");
    is_finished_ = status == ASYNC_FINISH;
    return is_finished_;
  }

  /// Waits until the job is finished. Returns its result.
  const std::string& finish() {
    while (!go()) {
      pollfd one{.fd = -1, .events = POLLIN, .revents = 0};
      std::size_t count = 1;
      ASYNC_WAIT_CTX_get_all_fds(wait_, &one.fd, &count);
      poll(&one, 1, -1);
    }
    return result_;
  }

 private:
  int run() {
    try {
      result_ = line_.operation == "sign"     ? sign(library_, key_.get(), line_)
                : line_.operation == "verify" ? verify(library_, key_.get(), line_)
                                              : decrypt(library_, key_.get(), line_);
    } catch (const std::exception& error) {
      result_ = error.what();
    }
    return 1;
  }

  OSSL_LIB_CTX* library_;
  Line line_;
  Pkey key_;
  ASYNC_WAIT_CTX* wait_ = ASYNC_WAIT_CTX_new();
  ASYNC_JOB* job_ = nullptr;
  bool is_finished_ = false;
  std::string result_;
};

int run(const char* configuration) {
  OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
  // The configuration holds the provider too.
  if (OSSL_LIB_CTX_load_config(library, configuration) != 1) throw std::runtime_error("the configuration is wrong");
  OSSL_PROVIDER* const ours = OSSL_PROVIDER_load(library, "penumbra");
  if (ours == nullptr) throw std::runtime_error("the provider does not load");
  Line line;
  std::vector<std::unique_ptr<Job>> jobs;
  const auto finish = [&jobs] {
    for (const auto& each : jobs) each->go();
    for (const auto& each : jobs) std::cout << each->finish() << '\n';
    jobs.clear();
  };
  while (std::cin >> line) {
    jobs.push_back(std::make_unique<Job>(library, line));
    if (jobs.size() == kTogether) finish();
  }
  finish();
  std::uint64_t taken = 0, answered = 0, batched = 0;
  OSSL_PARAM params[] = {OSSL_PARAM_construct_uint64("taken", &taken),
                         OSSL_PARAM_construct_uint64("answered", &answered),
                         OSSL_PARAM_construct_uint64("batched", &batched), OSSL_PARAM_construct_end()};
  if (OSSL_PROVIDER_get_params(ours, params) != 1) throw std::runtime_error("the provider has no counters");
  std::cout << taken << ' ' << answered << ' ' << batched << '\n';
  ASYNC_cleanup_thread();
  OSSL_PROVIDER_unload(ours);
  OSSL_LIB_CTX_free(library);
  return 0;
}

}  // namespace
}  // namespace penumbra::tls

int main(int count, char** words) {
  try {
    if (count != 2) throw std::runtime_error("usage: provider_vectors CONFIGURATION");
    return penumbra::tls::run(words[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
